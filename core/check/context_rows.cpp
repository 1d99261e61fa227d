// SPDX-License-Identifier: Apache-2.0
// The context names existing ledger rows, each once. A row is live exactly when some layer holds it. Any other row has
// left through windows where a map still counts it, else it is evicted. Cost: one look per row and map entry, or per
// row that has come where nothing else has changed since the last check.
#include <algorithm>

#include "core/api/column.h"
#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

/// [ledger] the statements of the maps about each row.
std::vector<RowState> statesByMaps(const CheckInput& input) {
  std::vector<RowState> out(input.state.ledger.size(), RowState::Evicted);
  for (const SharedMap& shared : sharedMaps(input)) {
    const std::span<const LedgerId> ledger = shared.map->ledger.span();
    const auto first = static_cast<std::size_t>(shared.map->first);
    for (std::size_t i = 0; i < ledger.size(); ++i) {
      if (!input.state.ledger.contains(ledger[i])) continue;
      RowState& state = out[at(ledger[i])];
      if (i >= first) state = RowState::Live;
      else if (state == RowState::Evicted) state = RowState::LeftWindow;
    }
  }
  return out;
}

/// States that a row of the context may have.
bool possible(RowState state) { return counted(state) || state == RowState::Evicted; }

std::string whatMapsSay(RowState state) {
  if (state == RowState::Live) return "some layer holds it";
  return state == RowState::Evicted ? "no layer holds it" : "it has left through windows";
}

/// True if context, maps and rows continue those that passed, and all later rows are new, live and in every map.
bool goesOn(const CheckInput& input) {
  if (!input.passed) return false;
  const CacheState &was = *input.passed, &is = input.state;
  if (is.ledger.size() < was.ledger.size() || !continues(is.context, was.context)) return false;
  for (LedgerId id(static_cast<std::int32_t>(is.ledger.alike(was.ledger))); was.ledger.contains(id); ++id)
    if (is.ledger[id].state != was.ledger[id].state) return false;
  const std::span<const LedgerId> come = is.context.span().subspan(was.context.size());
  LedgerId next = was.ledger.nextId();
  for (const LedgerId id : come) {
    if (id < next || !is.ledger.contains(id) || is.ledger[id].state != RowState::Live) return false;
    next = LedgerId(id.value() + 1);
  }
  for (const SharedMap& shared : sharedMaps(input)) {
    const std::vector<const LayerGroup*> groups = passedGroups(input, shared);
    const bool same = std::ranges::all_of(groups, [&](const LayerGroup* group) {
      return group->map->first == shared.map->first && continues(shared.map->ledger, group->map->ledger) &&
          std::ranges::equal(shared.map->ledger.span().subspan(group->map->ledger.size()), come);
    });
    if (groups.empty() || !same) return false;
  }
  return true;
}

}  // namespace

void checkContextRows(const CheckInput& input, Findings& findings) {
  if (goesOn(input)) return;
  const CacheState& state = input.state;
  const std::vector<RowState> states = statesByMaps(input);
  const std::span<const LedgerId> context = state.context.span();
  std::vector<bool> seen(state.ledger.size());
  for (std::size_t i = 0; i < context.size(); ++i) {
    const LedgerId id = context[i];
    const bool exists = state.ledger.contains(id);
    const RowState rowState = exists ? state.ledger[id].state : RowState::Deleted;
    if (possible(rowState) && rowState == states[at(id)] && !seen[at(id)]) {
      seen[at(id)] = true;
      continue;
    }
    const Place place{{}, i, id};
    const auto where = [&] { return "position " + std::to_string(i) + ": " + rowName(id); };
    if (!exists) {
      findings.add(place, where() + " does not exist, the ledger has " + std::to_string(state.ledger.size()) + " rows");
      continue;
    }
    if (seen[at(id)]) findings.add(place, where() + " stands in the context twice");
    seen[at(id)] = true;
    if (!possible(rowState)) findings.add(place, where() + " is " + std::string(name(rowState)) + ", not live");
    else if (rowState != states[at(id)])
      findings.add(place, where() + " is " + std::string(name(rowState)) + ", but " + whatMapsSay(states[at(id)]));
  }
}

}  // namespace kvlab
