// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/plain/plain_kind.h"

#include <algorithm>
#include <limits>
#include <span>

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

CullDeed decided(const CacheState& observed, std::span<const Action> users, CallContext& call) {
  const BrightnessSettings& rules = call.parts.manifest.brightness;
  CullDeed deed{.target = rules.target, .minCosine = rules.minCosine, .brightness = observed.brightness};
  const int count = cullCount(observed.length(), rules.target);
  if (count == 0) return deed;
  deed.touched = takenBy(observed, call.parts, {users.begin(), users.end()});
  const auto isTaken = [&](Position p) { return static_cast<bool>(deed.touched[at(p.value())]); };
  for (const Position p : dimmestPairs(observed, count, isTaken)) {
    const std::size_t i = at(p.value());
    const TokenId a = observed.ledger[observed.context[i]].token, b = observed.ledger[observed.context[i + 1]].token;
    deed.pairs.push_back({p,
                          call.parts.compressor->replacement(a, observed.brightness[i], b, observed.brightness[i + 1],
                                                             rules.minCosine)});
  }
  return deed;
}

}  // namespace

Status Culling::before(CacheState& observed, TickPart& part, CallContext& call) const {
  const Manifest& m = call.parts.manifest;
  if (!part.generates || part.earlier || m.brightness.compressor != "nearest" || !m.probes) return ok();
  CullDeed deed = decided(observed, std::span(part.actions).first(part.actions.size() - 1), call);
  std::vector<Action> culls;
  for (const CulledPair& pair : deed.pairs)
    if (pair.token) culls.push_back(ReplacePair{pair.first, Position(pair.first.value() + 1), {*pair.token}});
  part.actions.insert(part.actions.end() - 1, culls.begin(), culls.end());  // before the action that adds the new token
  if (CommitDeeds& deeds = call.parts.store.deeds(); deeds.wanted()) deeds.cull(std::move(deed));
  return ok();
}

}  // namespace kvlab
