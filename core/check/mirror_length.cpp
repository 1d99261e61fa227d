// SPDX-License-Identifier: Apache-2.0
// Cache and mirror have the same shape. Context, phases and brightness are equally long. Birth phases and provenance
// are as long as the ledger. Every layer has a map with columns of equal length, and the map lacks exactly as many rows
// as were counted when rows left. A full check also counts the rows that the state says were evicted.
#include <algorithm>

#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

void same(const Place& place, const std::string& what, std::size_t have, const std::string& other, std::size_t want,
          Findings& findings) {
  if (have != want)
    findings.add(place, what + " has " + std::to_string(have) + " values, " + other + " has " + std::to_string(want));
}

void checkLayers(const CheckInput& input, Findings& findings) {
  const CacheState& state = input.state;
  same({}, "the list of layers", state.groupOf.size(), "the store", input.store.layers().size(), findings);
  for (const CacheLayer layer : state.layers()) {
    const std::int32_t g = state.groupOf[at(layer)];
    const bool exists = g >= 0 && static_cast<std::size_t>(g) < state.groups.size();
    if (!exists || !state.groups[static_cast<std::size_t>(g)].map)
      findings.add({layer, {}, {}}, "layer " + state.cacheLayers().name(layer) + " has no residency map");
  }
}

void checkMap(const CacheState& state, const SharedMap& shared, Findings& findings) {
  const ResidencyView& map = *shared.map;
  Place place{shared.first(), {}, {}};
  if (!state.context.empty() &&
      (map.ledger.empty() || map.ledger[map.ledger.size() - 1] != state.context[state.context.size() - 1]))
    place.ledger = state.context[state.context.size() - 1];  // the map lacks the last row
  const std::string name = shared.name();
  same(place, name + ": the ledger column", map.ledger.size(), "the slot column", map.slotOf.size(), findings);
  same(place, name + ": the phase column", map.phases.size(), "the slot column", map.slotOf.size(), findings);
  same(place, name + ": provenance", shared.group->provenance.size(), "the ledger", state.ledger.size(), findings);
  const std::int64_t want = std::int64_t{state.length()} - shared.group->absent;
  if (static_cast<std::int64_t>(map.size()) != want)
    findings.add(place,
                 name + ": the map has " + std::to_string(map.size()) + " rows; the context of " +
                     std::to_string(state.length()) + " tokens less " + std::to_string(shared.group->absent) +
                     " that left makes " + std::to_string(want));
}

/// A rebuild makes a damaged map anew without the rows that were evicted.
void checkEvicted(const CacheState& state, const SharedMap& shared, Findings& findings) {
  if (shared.group->evicted.empty() && shared.group->absent == 0) return;
  const std::vector<std::int32_t> places = placesOf(state.context, state.ledger.size());
  std::vector<bool> counted(state.context.size());
  for (const LedgerId id : shared.group->evicted)
    if (state.ledger.contains(id) && places[at(id)] >= 0) counted[at(places[at(id)])] = true;
  same({shared.first(), {}, {}}, shared.name() + ": the list of evicted rows of the context",
       static_cast<std::size_t>(std::ranges::count(counted, true)), "the count of rows that left",
       static_cast<std::size_t>(shared.group->absent), findings);
}

}  // namespace

void checkMirrorLength(const CheckInput& input, Findings& findings) {
  const CacheState& state = input.state;
  same({}, "the phase column", state.phases.size(), "the context", state.context.size(), findings);
  same({}, "brightness", state.brightness.size(), "the context", state.context.size(), findings);
  same({}, "the list of birth phases", state.birthPhases.size(), "the ledger", state.ledger.size(), findings);
  checkLayers(input, findings);
  for (const SharedMap& shared : sharedMaps(input)) {
    checkMap(state, shared, findings);
    if (input.full) checkEvicted(state, shared, findings);
  }
}

}  // namespace kvlab
