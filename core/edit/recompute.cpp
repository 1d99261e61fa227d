// SPDX-License-Identifier: Apache-2.0
#include "core/edit/recompute.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/edit/splice.h"

namespace kvlab {
namespace {

/// Map index of each of the ascending context positions; -1 if the row is not resident.
std::vector<std::int32_t> indicesOf(const CacheState& state, const ResidencyView& map,
                                    const std::vector<std::int32_t>& positions) {
  std::vector<std::int32_t> out;
  if (state.whole(map)) {
    for (std::int32_t position : positions) out.push_back(position < map.first ? -1 : position);
    return out;
  }
  std::size_t index = 0;
  std::int32_t position = 0;
  for (std::int32_t wanted : positions) {
    for (; position < wanted; ++position)
      if (index < map.size() && map.ledger[index] == state.context[at(position)]) ++index;
    const bool resident = map.has(index) && map.ledger[index] == state.context[at(wanted)];
    out.push_back(resident ? static_cast<std::int32_t>(index) : -1);
  }
  return out;
}
}  // namespace

std::vector<std::int32_t> staleSurvivors(const CacheState& after, const EditPlan& plan) {
  std::vector<std::int32_t> out;
  std::int32_t position = 0;
  for (const Run& run : plan.runs)
    for (std::int32_t i = 0; i < run.count; ++i, ++position)
      if (!run.fresh && position >= plan.firstChange && counted(after.ledger[after.context[at(position)]].state))
        out.push_back(position);
  return out;
}

std::vector<std::int32_t> residentIn(const CacheState& state, CacheLayer layer,
                                     const std::vector<std::int32_t>& positions) {
  const std::vector<std::int32_t> indices = indicesOf(state, state.map(layer), positions);
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < positions.size(); ++i)
    if (indices[i] >= 0) out.push_back(positions[i]);
  return out;
}

std::size_t shareOf(std::size_t n, double ratio) {
  return static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(n)));
}

std::vector<std::int32_t> mostDeviating(const std::vector<std::int32_t>& positions,
                                        const std::vector<double>& deviation, double ratio) {
  std::vector<std::size_t> order(positions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return deviation[a] > deviation[b]; });
  order.resize(shareOf(order.size(), ratio));
  std::vector<std::int32_t> chosen;
  for (std::size_t i : order) chosen.push_back(positions[i]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

SlotChange refreshSlots(CacheState& state, const std::vector<std::int32_t>& positions, const LayerSlots& fresh) {
  SlotChange change{LayerSlots(state.groupOf.size()), LayerSlots(state.groupOf.size())};
  const auto make = [&](CacheLayer layer) {
    LayerGroup group = state.group(layer);
    const std::vector<std::int32_t> indices = indicesOf(state, *group.map, positions);
    std::vector<Slot> slots(group.map->slotOf.begin(), group.map->slotOf.end());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      Slot slot = fresh[at(layer)][i];
      if (indices[i] >= 0) std::swap(slot, slots[at(indices[i])]);
      (indices[i] >= 0 ? change.freed : change.unused)[at(layer)].push_back(slot);
    }
    auto map = std::make_shared<ResidencyView>(*group.map);
    map->slotOf.assign(slots);
    group.map = std::move(map);
    return group;
  };
  const auto joined = [&](CacheLayer layer, CacheLayer first) {
    change.freed[at(layer)] = change.freed[at(first)];
    change.unused[at(layer)] = change.unused[at(first)];
  };
  regroup(
      state, [&](CacheLayer a, CacheLayer b) { return fresh[at(a)] == fresh[at(b)]; }, make, joined);
  return change;
}

RowTarget targetAt(const CacheState& state, std::int32_t position) {
  const LedgerId id = state.context[at(position)];
  return {id, state.ledger[id].token, position, state.phases[at(position)]};
}

}  // namespace kvlab
