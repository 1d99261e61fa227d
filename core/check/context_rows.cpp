// SPDX-License-Identifier: Apache-2.0
// The context names existing ledger rows, each once. A row is live exactly when some layer holds it. Any other row has
// left through windows where a map still counts it, else it is evicted. Cost: one look per row, and one per map entry
// where something has left.
#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

/// [ledger] what the maps say of each row.
std::vector<RowState> statesByMaps(const CheckInput& input) {
  std::vector<RowState> out(input.state.ledger.size(), RowState::Evicted);
  for (const SharedMap& shared : sharedMaps(input))
    for (std::size_t i = 0; i < shared.map->ledger.size(); ++i) {
      const LedgerId id = shared.map->ledger[i];
      if (!input.state.ledger.contains(id)) continue;
      RowState& state = out[static_cast<std::size_t>(id.value())];
      if (i >= static_cast<std::size_t>(shared.map->first)) state = RowState::Live;
      else if (state == RowState::Evicted) state = RowState::LeftWindow;
    }
  return out;
}

std::string whatMapsSay(RowState state) {
  if (state == RowState::Live) return "some layer holds it";
  return state == RowState::Evicted ? "no layer holds it" : "it has left through windows";
}

}  // namespace

void checkContextRows(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("context_rows", out);
  const CacheState& state = input.state;
  const std::vector<RowState> states = statesByMaps(input);
  std::vector<bool> seen(state.ledger.size());
  for (std::size_t i = 0; i < state.context.size(); ++i) {
    const LedgerId id = state.context[i];
    const Place place{{}, i, id};
    const auto where = [&] { return "position " + std::to_string(i) + ": " + rowName(id); };
    if (!state.ledger.contains(id)) {
      findings.add(place, where() + " does not exist, the ledger has " + std::to_string(state.ledger.size()) + " rows");
      continue;
    }
    const auto at = static_cast<std::size_t>(id.value());
    const RowState rowState = state.ledger[id].state;
    if (seen[at]) findings.add(place, where() + " stands in the context twice");
    seen[at] = true;
    if (!counted(rowState) && rowState != RowState::Evicted)
      findings.add(place, where() + " is " + std::string(name(rowState)) + ", not live");
    else if (rowState != states[at])
      findings.add(place, where() + " is " + std::string(name(rowState)) + ", but " + whatMapsSay(states[at]));
  }
}

}  // namespace kvlab
