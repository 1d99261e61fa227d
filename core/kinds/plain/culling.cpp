// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/plain/culling.h"

#include <algorithm>
#include <limits>

#include "core/policy/brightness.h"

namespace kvlab {
namespace {

/// [length] marks positions that the user's actions refer to, also where they need the room that culling makes.
std::vector<bool> takenBy(const CacheState& state, const SessionParts& parts, std::vector<Action> users) {
  std::vector<bool> taken(state.context.size(), false);
  PlanRules rules = planRules(parts, Source::User);
  rules.capacity = std::numeric_limits<std::int32_t>::max();
  CacheState roomy = state;
  for (LayerGroup& group : roomy.groups) group.capacity = std::numeric_limits<std::int32_t>::max();
  const Result<EditPlan> plan = planEdit(roomy, rules, std::move(users));
  if (!plan) return taken;
  for (Position p : plan->removed) taken[at(p.value())] = true;
  // An insert must not land inside a removed run.
  for (const PlannedAction& detail : plan->details)
    for (std::int32_t p = detail.anchor.value() - 1; p <= detail.anchor.value(); ++p)
      if (p >= 0 && p < state.length()) taken[at(p)] = true;
  for (const PlannedEviction& eviction : plan->evictions)
    for (LedgerId id : eviction.ledger)
      taken[at(std::find(state.context.begin(), state.context.end(), id) - state.context.begin())] = true;
  return taken;
}

}  // namespace

Status Culling::before(CacheState& observed, TickPart& part, CallContext& call) const {
  const Manifest& m = call.parts.manifest;
  const BrightnessSettings& b = m.brightness;
  if (!part.generates || part.earlier || b.compressor != "nearest" || !m.probes) return ok();
  const int count = cullCount(observed.length(), b.target);
  if (count == 0) return ok();
  const std::vector<Action> users(part.actions.begin(), part.actions.end() - 1);
  const std::vector<bool> taken = takenBy(observed, call.parts, users);
  const auto isTaken = [&](Position p) { return static_cast<bool>(taken[at(p.value())]); };
  std::vector<Action> culls;
  for (Position p : dimmestPairs(observed, count, isTaken)) {
    const std::size_t i = at(p.value());
    const TokenId a = observed.ledger[observed.context[i]].token, c = observed.ledger[observed.context[i + 1]].token;
    const std::optional<TokenId> replacement =
        call.parts.compressor->replacement(a, observed.brightness[i], c, observed.brightness[i + 1], b.minCosine);
    if (replacement) culls.push_back(ReplacePair{p, Position(p.value() + 1), {*replacement}});
  }
  part.actions.insert(part.actions.end() - 1, culls.begin(), culls.end());  // before the action that adds the new token
  return ok();
}

}  // namespace kvlab
