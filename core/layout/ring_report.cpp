// SPDX-License-Identifier: Apache-2.0
#include "core/layout/ring_report.h"

#include <algorithm>

#include "core/layout/layout_set.h"

namespace kvlab {
namespace {

/// The slot that a map has a row in; none if it has no slot. likely: an index at which the row may stand.
std::optional<std::int32_t> slotOfRow(const ResidencyView& map, LedgerId id, std::size_t likely) {
  std::size_t index = likely;
  if (index >= map.size() || map.ledger[index] != id)
    index = static_cast<std::size_t>(std::find(map.ledger.begin(), map.ledger.end(), id) - map.ledger.begin());
  if (index < at(map.first) || index >= map.size()) return std::nullopt;
  return map.slotOf[index].value();
}

/// Slots by which the oldest row that stayed has moved towards slot 0, around the end. Rows from `firstNew` on are new.
std::int32_t shiftOf(const LayerGroup& before, const LayerGroup& after, LedgerId firstNew) {
  const ResidencyView& map = *after.map;
  if (!before.ring || before.ring->capacity != after.ring->capacity) return 0;
  for (std::size_t i = at(map.first); i < map.size(); ++i) {
    if (map.ledger[i] >= firstNew) continue;
    const std::optional<std::int32_t> then = slotOfRow(*before.map, map.ledger[i], i);
    const std::int32_t lap = after.ring->capacity;
    if (then) return ((*then - map.slotOf[i].value()) % lap + lap) % lap;
  }
  return 0;
}

}  // namespace

std::vector<RingCommit> ringCommits(const CacheState& before, const CacheState& after) {
  std::vector<RingCommit> out;
  const std::vector<std::vector<CacheLayer>> layers = layersOf(after);
  for (std::size_t g = 0; g < after.groups.size(); ++g) {
    const LayerGroup& group = after.groups[g];
    if (!group.ring || layers[g].empty()) continue;
    const RingState& ring = *group.ring;
    const LayerGroup& then = before.group(layers[g].front());
    out.push_back({.layer = layers[g].front(),
                   .layers = static_cast<std::int32_t>(layers[g].size()),
                   .length = static_cast<std::int64_t>(group.map->size()),
                   .offset = ring.offset,
                   .shift = shiftOf(then, group, before.ledger.nextId()),
                   .write = {ring.writeBegin, ring.writeCount},
                   .pointer = ring.pointer(),
                   .filled = ring.filled});
  }
  return out;
}

}  // namespace kvlab
