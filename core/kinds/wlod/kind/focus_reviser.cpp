// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/kind/wlod_parts.h"

#include <algorithm>

namespace kvlab {

std::int32_t addsIn(const std::vector<Action>& actions) {
  return static_cast<std::int32_t>(
      std::count_if(actions.begin(), actions.end(), [](const Action& a) { return std::holds_alternative<Add>(a); }));
}

Status FocusReviser::before(CacheState& observed, TickPart& part, CallContext& call) const {
  const WlodState& state = wlodIn(observed);
  if (!m_settings.allocates() || state.context.cost() == 0 || state.draft || part.draft) return ok();
  const std::int32_t adds = addsIn(part.actions);
  const bool room = state.context.cost() + adds > state.rules.working.budget;
  const bool due =
      adds ? adds == 1 && part.actions.size() == 1 && state.sinceRound + 1 >= state.rules.every : part.actions.empty();
  if (!room && !due) return ok();
  auto scope = call.trace.scope("refocus");
  auto next = withPins(observed);
  if (m_parts.lens.net) next->mass = m_parts.foreseen(observed, *call.parts.model);
  std::vector<double> scores = m_parts.scores(*next);
  scores.resize(static_cast<std::size_t>(state.context.cost()));  // without scores all entries are equal
  if (!room) next->context = state.context.nextRound();
  FocusRules rules = state.rules.focus;
  if (!room && !adds) rules.dirty = 1;  // after a prompt, edits may make any share dirty
  Result<Refocus> round = room ? makeRoom(next->context, scores, adds, rules, next->rules.working)
                               : refocus(next->context, scores, rules, next->rules.working);
  if (!round && room && round.error().code == "over_budget") return ok();  // the plan starts cold or refuses the tick
  if (!round) return round.error();
  if (!room) next->sinceRound = -adds;  // the tokens are counted when they are added
  round->round.tick = Tick(observed.tick.value() + 1);
  scope.detail(std::to_string(round->edits.size()) + " of " + std::to_string(round->round.decisions.size()) +
               " candidates");
  next->rounds.push_back(std::make_shared<const FocusRound>(std::move(round->round)));
  if (next->rounds.size() > WlodState::kMostRounds) next->rounds.erase(next->rounds.begin());
  for (const LodEdit& edit : round->edits) {
    if (edit.expand) part.actions.push_back(Expand{edit.node.id()});
    else part.actions.push_back(Collapse{edit.node.id()});
  }
  observed.kind = std::move(next);
  return ok();
}

bool FocusReviser::wantsTick(const CacheState& state, CallContext& call) const {
  if (state.length() == 0) return false;
  CacheState looked = state;
  TickPart part;
  return before(looked, part, call) && !part.actions.empty();
}

}  // namespace kvlab
