// SPDX-License-Identifier: Apache-2.0
// Every resident row of every layer carries the ledger id in the map. The kernel that writes K and V writes the tag,
// and every tick checks it, so a map that names another token's row is found at once.
#include <algorithm>

#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

/// False if some slot of a map lies outside the pool.
bool allInside(std::span<const std::int32_t> slots, std::int32_t poolSlots) {
  std::int32_t lowest = 0, highest = -1;
  for (const std::int32_t slot : slots) lowest = std::min(lowest, slot), highest = std::max(highest, slot);
  return lowest >= 0 && highest < poolSlots;
}

/// Reports the rows of a layer whose tag is wrong.
void nameRows(const CheckInput& input, const SharedMap& shared, const RowList& list, CacheLayer layer,
              Findings& findings) {
  const RowPool& pool = input.store.pool(layer);
  std::vector<std::uint64_t> stored(list.slots.size());
  pool.readTags(list.slots, stored.data(), nullptr);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i] == list.tags[i]) continue;
    const std::size_t index = list.indices[i];
    findings.add({layer, index, shared.map->ledger[index]},
                 shared.name(layer) + ", index " + std::to_string(index) + ": slot " + std::to_string(list.slots[i]) +
                     " carries tag " + std::to_string(stored[i]) + ", the map says ledger row " +
                     std::to_string(list.tags[i]));
  }
}

}  // namespace

void checkRowTags(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("row_tags", out);
  for (const SharedMap& shared : storedMaps(input)) {
    const std::int32_t poolSlots = input.store.pool(shared.first()).slots();
    const std::size_t rows = shared.rows(), first = std::min(rows, static_cast<std::size_t>(shared.map->first));
    std::span<const std::int32_t> slots = plain(shared.map->slotOf.span().subspan(first, rows - first));
    std::vector<std::uint64_t> tags(slots.size());
    std::ranges::transform(shared.map->ledger.span().subspan(first, rows - first), tags.begin(),
                           [](LedgerId id) { return static_cast<std::uint64_t>(id.value()); });
    RowList inside;  // of a damaged map
    if (!allInside(slots, poolSlots)) {
      inside = rowList(shared, poolSlots);
      slots = inside.slots;
      tags = inside.tags;
    }
    std::vector<kernels::PoolView> pools;
    for (const CacheLayer layer : shared.layers) pools.push_back(input.store.pool(layer).view());
    const std::vector<std::int64_t> wrong = wrongTags(input.store.backend(), pools, slots, tags);
    for (std::size_t i = 0; i < pools.size(); ++i)
      if (wrong[i] > 0) nameRows(input, shared, rowList(shared, poolSlots), shared.layers[i], findings);
  }
}

}  // namespace kvlab
