// SPDX-License-Identifier: Apache-2.0
// The context names existing ledger rows, each once. A row is evicted if no layer holds it, else live. Cost: one step
// per row, and one per map entry where rows were evicted.
#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

/// [ledger] true for rows that some layer holds.
std::vector<bool> residentSomewhere(const CheckInput& input) {
  std::vector<bool> resident(input.state.ledger.size());
  for (const SharedMap& shared : sharedMaps(input))
    for (LedgerId id : shared.map->ledger)
      if (input.state.ledger.contains(id)) resident[static_cast<std::size_t>(id.value())] = true;
  return resident;
}

}  // namespace

void checkContextRows(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("context_rows", out);
  const CacheState& state = input.state;
  const std::vector<bool> resident = residentSomewhere(input);
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
    if (rowState != RowState::Live && rowState != RowState::Evicted)
      findings.add(place, where() + " is " + std::string(name(rowState)) + ", not live");
    else if (rowState == RowState::Live && !resident[at])
      findings.add(place, where() + " is live, but no layer holds it");
    else if (rowState == RowState::Evicted && resident[at])
      findings.add(place, where() + " is evicted, but some layer holds it");
  }
}

}  // namespace kvlab
