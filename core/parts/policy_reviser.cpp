// SPDX-License-Identifier: Apache-2.0
#include "core/parts/reviser.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "core/bugs/bug_kind.h"
#include "core/parts/cache_kind.h"
#include "core/policy/policy.h"

namespace kvlab {
namespace {

/// Numbers of leading rows (sinks) that moments of queries skip, for the policies that look at so many queries.
std::set<std::int32_t> momentsFrom(const std::vector<PolicySpec>& specs, std::int32_t queries) {
  std::set<std::int32_t> from;
  for (const PolicySpec& spec : specs)
    if (spec.observe == queries && (needsOf(spec) & kMoments)) from.insert(spec.sinks);
  return from.empty() ? std::set{0} : from;
}

/// The state `seen`, but with the moments of `before` in layers whose policy skips other rows.
std::shared_ptr<const PolicyState> withMomentsFrom(std::int32_t from, const PolicyState& before,
                                                   const PolicyState& seen) {
  auto out = std::make_shared<PolicyState>(seen);
  for (std::size_t layer = 0; layer < out->specs.size(); ++layer)
    if (out->specs[layer].sinks != from) out->layers[layer].queries = before.layers[layer].queries;
  return out;
}

/// Writes down the attention of a prompt's last queries, if a policy needs it.
Status observePrompt(CacheState& state, const TickPart& part, const TransactionRules& rules, CallContext& call) {
  std::shared_ptr<const PromptLooks> looks = part.looks;
  if (!looks) looks = std::make_shared<const PromptLooks>(KV_TRY(lookAtPromptEnd(state, rules, call)));
  const CacheHeads heads = headsOf(call.parts.model->config(), call.parts.cacheLayers);
  for (const PromptLook& look : *looks)
    state.policy = withMomentsFrom(look.momentsFrom, *state.policy,
                                   *withObservation(*state.policy, heads, look.queries, look.seen));
  return ok();
}

/// Computes attention and logits over the resident rows if they are stale. A tick must not depend on earlier queries.
Status refresh(CacheState& state, const TransactionRules& rules, CallContext& call) {
  if (!state.logitsStale || state.length() == 0) return ok();
  state = KV_TRY(call.parts.kind->query(state, rules, call));
  call.parts.store.deeds().ask();
  return ok();
}

}  // namespace

Result<PromptLooks> lookAtPromptEnd(const CacheState& state, const TransactionRules& rules, CallContext& call) {
  PromptLooks out;
  if (!state.policy) return out;
  call.makeRoom(1, Placing::Look);
  for (const std::int32_t queries : observations(state.policy->specs))
    for (const std::int32_t from : momentsFrom(state.policy->specs, queries)) {
      Observation seen = KV_TRY(call.parts.kind->observe(state, queries, from, rules, call));
      out.push_back({queries, from, std::move(seen)});
    }
  return out;
}

Wanted PolicyReviser::wants(const CacheState& state) const {
  Wanted out;
  if (!state.policy) return out;
  const unsigned looksAt = statisticsOf(state.policy->specs);
  if (looksAt & (kReceived | kObserved | kNewest)) out.newest = InLayers::All;
  if (looksAt & (kReceived | kObserved)) out.receivedPerHead = InLayers::All;
  out.gates = state.policy->gates.get();
  return out;
}

Result<Applied> PolicyReviser::decide(Applied applied, const TickPart& part, CallContext& call,
                                      std::vector<Action>& actions) const {
  auto scope = call.trace.scope("policy");
  TransactionRules rules = part.rules;
  rules.keepLogits = true;
  const bool drafts = applied.state.kind->draftedFrom();  // a rollback leads back to all of its rows
  PassKind pass = drafts ? PassKind::Decode : part.pass;
  if (pass == PassKind::Decode && applied.state.policy->prefilling) pass = PassKind::PromptEnd;
  if (pass == PassKind::PromptEnd) KV_TRY(observePrompt(applied.state, part, rules, call));
  if (statisticsOf(applied.state.policy->specs) & kNewest) KV_TRY(refresh(applied.state, rules, call));
  const auto& repeated = call.parts.decisions;
  const Decisions* again = repeated.empty() ? nullptr : repeated.front().get();
  const auto room = std::clamp<std::int64_t>(call.parts.capacity - std::max(1, call.parts.manifest.ring.blockTokens), 0,
                                             std::numeric_limits<std::int32_t>::max());
  Pruned pruned = KV_TRY(prune({applied.state, *call.parts.transformer, call.parts.store, pass, drafts, again,
                                static_cast<std::int32_t>(room)}));
  call.parts.store.deeds().decide(pass);
  if (const BugKind* bug = call.parts.faults.bug(); bug && bug->evicted) bug->evicted(pruned.evictions);
  applied.evictions.assign(pruned.evictions.begin(), pruned.evictions.end());
  if (!applied.evictions.empty())  // computed before the rows leave, so that the next token still depends on them
    KV_TRY(refresh(applied.state, rules, call));
  applied.state.policy = std::move(pruned.state);
  actions.insert(actions.end(), applied.evictions.begin(), applied.evictions.end());
  return applied;
}

Result<Applied> PolicyReviser::after(Applied applied, const TickPart& part, CallContext& call) const {
  auto scope = call.trace.scope("policy", "its rows leave");
  TransactionRules rules = part.rules;
  rules.keepLogits = true;
  std::vector<Action> evictions = std::exchange(applied.evictions, {});
  rules.toFront = applied.state.policy->atPromptEnd && !evictions.empty();
  return call.parts.kind->evict(std::move(applied), std::move(evictions), rules, call);
}

}  // namespace kvlab
