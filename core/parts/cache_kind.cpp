// SPDX-License-Identifier: Apache-2.0
#include "core/parts/cache_kind.h"

namespace kvlab {

Result<Applied> CacheKind::evict(Applied applied, std::vector<Action> evictions, const TransactionRules& rules,
                                 CallContext& call) {
  const EditPlan plan = KV_TRY(planEdit(applied.state, planRules(call.parts, Source::Model), std::move(evictions)));
  return call.transaction().run(applied.state, plan, rules, call.trace, call.progress, &applied);
}

Result<CacheState> CacheKind::query(const CacheState& state, const TransactionRules& rules, CallContext& call) {
  return call.transaction().query(state, rules, call.trace);
}

Result<Observation> CacheKind::observe(const CacheState& state, std::int32_t queries, std::int32_t momentsFrom,
                                       const TransactionRules& rules, CallContext& call) {
  return call.transaction().observe(state, queries, momentsFrom, rules, call.trace, call.progress);
}

Result<std::shared_ptr<const NewestAttention>> CacheKind::attended(const CacheState& state, Position query, int layers,
                                                                   const TransactionRules& rules, CallContext& call) {
  return call.transaction().attended(state, query, layers, rules);
}

}  // namespace kvlab
