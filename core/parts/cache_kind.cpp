// SPDX-License-Identifier: Apache-2.0
#include "core/parts/cache_kind.h"

#include <algorithm>

namespace kvlab {
namespace {

/// The row at a position is a token; a summary is no query.
bool isToken(const CacheState& state, std::int32_t position) {
  return state.ledger[state.context[at(position)]].kind == RowKind::Token;
}

}  // namespace

Result<Applied> CacheKind::evict(Applied applied, std::vector<Action> evictions, const TransactionRules& rules,
                                 CallContext& call) {
  const EditPlan plan = KV_TRY(planEdit(applied.state, planRules(call.parts, Source::Model), std::move(evictions)));
  return call.transaction().run(applied.state, plan, rules, call.trace, call.progress, &applied);
}

Result<RowsBrought> CacheKind::look(const CacheState& state, const QueryPass& pass, const TransactionRules& rules,
                                    CallContext& call) {
  return call.transaction().look(state, pass, rules);
}

Result<CacheState> CacheKind::query(const CacheState& state, const TransactionRules& rules, CallContext& call) {
  CacheState refreshed = state;
  if (state.length() == 0) return refreshed;
  auto scope = call.trace.scope("query_pass");
  const Wanted wanted{.logits = true, .newest = rules.wanted.newest, .newestPerHead = rules.wanted.newestPerHead};
  RowsBrought seen = KV_TRY(look(state, {{state.length() - 1}, wanted}, rules, call));
  refreshed.logits = std::make_shared<const std::vector<float>>(std::move(seen.logits));
  if (seen.attention) refreshed.attention = std::move(seen.attention);
  refreshed.logitsStale = false;
  return refreshed;
}

Result<Observation> CacheKind::observe(const CacheState& state, std::int32_t queries, std::int32_t momentsFrom,
                                       const TransactionRules& rules, CallContext& call) {
  QueryPass pass{{}, {.receivedPerHead = InLayers::All, .momentsFrom = momentsFrom}, 0, call.progress};
  for (std::int32_t p = state.length() - 1; p >= 0 && (!queries || std::ssize(pass.positions) < queries); --p)
    if (isToken(state, p)) pass.positions.push_back(p);
  std::ranges::reverse(pass.positions);
  const auto n = static_cast<std::int32_t>(pass.positions.size());
  if (n == 0) return Observation{};
  auto scope = call.trace.scope("observe_prompt", std::to_string(n) + (n == 1 ? " query" : " queries"));
  return Observation{KV_TRY(look(state, pass, rules, call)), n};
}

Result<std::shared_ptr<const NewestAttention>> CacheKind::attended(const CacheState& state, Position query, int layers,
                                                                   const TransactionRules& rules, CallContext& call) {
  if (!isToken(state, query.value())) return std::shared_ptr<const NewestAttention>();
  const QueryPass pass{{query.value()}, {.receivedPerHead = InLayers::Last}, layers};
  RowsBrought seen = KV_TRY(look(state, pass, rules, call));
  return std::shared_ptr<const NewestAttention>(std::move(seen.attention));
}

}  // namespace kvlab
