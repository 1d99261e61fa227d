// SPDX-License-Identifier: Apache-2.0
// Every resident row of every layer carries the ledger id in the map. The kernel that writes K and V writes the tag, so
// a map that names another token's row is found. A full check reads every row. A cheap check reads the rows that are
// new to the map or were written since the last check, and this tick's slice of the others (row_checksums).
#include <algorithm>

#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

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

void checkRowTags(const CheckInput& input, Findings& findings) {
  const std::int64_t parts = input.full ? 1 : std::max(1, input.manifest.scrubPeriod);
  for (const SharedMap& shared : storedMaps(input)) {
    const RowList list = rowList(shared, input.store.pool(shared.first()).slots(), input.scrubPart % parts, parts,
                                 freshRows(input, shared));
    std::vector<kernels::PoolView> pools;
    for (const CacheLayer layer : shared.layers) pools.push_back(input.store.pool(layer).view());
    const std::vector<std::int64_t> wrong = wrongTags(input.store.backend(), pools, list.slots, list.tags);
    for (std::size_t i = 0; i < pools.size(); ++i)
      if (wrong[i] > 0) nameRows(input, shared, list, shared.layers[i], findings);
  }
}

}  // namespace kvlab
