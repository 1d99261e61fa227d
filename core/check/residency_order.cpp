// SPDX-License-Identifier: Apache-2.0
// A residency map is an ordered subset of the context: its rows are in the order of the context, each once. A map that
// shares the context's column needs no check.
#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "core/state/map_runs.h"

namespace kvlab {
namespace {

/// True if one walk along the context meets every row of a map. Known rows need none.
bool ordered(const CheckInput& input, const SharedMap& shared) {
  const CacheState& state = input.state;
  if (state.kind->derivesContext()) return false;  // its rows stand in an order of their own
  std::span<const LedgerId> context = state.context.span(), rows = shared.map->ledger.span();
  if (const std::size_t known = knownInFront(input, shared); known > 0) {
    context = context.subspan(input.passed->context.size());
    rows = rows.subspan(known);
  }
  std::size_t met = 0, most = 0;
  forCommonRuns(context, rows, [&](std::size_t, std::size_t, std::size_t count) { met += count; });
  for (const LedgerId id : rows) most = std::max(most, at(id));
  return met == rows.size() && (met == 0 || most < state.ledger.size());
}

}  // namespace

void checkResidencyOrder(const CheckInput& input, Findings& findings) {
  const CacheState& state = input.state;
  std::vector<std::int32_t> positionOf;
  for (const SharedMap& shared : sharedMaps(input)) {
    if (shared.map->ledger.sharesWith(state.context) || ordered(input, shared)) continue;
    if (positionOf.empty()) positionOf = placesOf(state.context, state.ledger.size());
    std::int32_t last = -1;
    for (std::size_t i = 0; i < shared.map->ledger.size(); ++i) {
      const LedgerId id = shared.map->ledger[i];
      const std::int32_t position = state.ledger.contains(id) ? positionOf[at(id)] : -1;
      const auto where = [&] { return shared.name() + ", index " + std::to_string(i) + ": " + rowName(id); };
      const Place place{shared.first(), i, id};
      if (position < 0) findings.add(place, where() + " is not in the context");
      else if (position <= last)
        findings.add(place,
                     where() + " stands at position " + std::to_string(position) +
                         " of the context, the row before it at " + std::to_string(last));
      last = std::max(last, position);
    }
  }
}

}  // namespace kvlab
