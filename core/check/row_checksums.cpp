// SPDX-License-Identifier: Apache-2.0
// The stored checksum of a row matches its bytes. A full check reads every row. A cheap check reads the rows whose
// ledger id falls into this tick's slice, so each row is read once in scrub_period ticks, whatever is edited in
// between.
#include <algorithm>

#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {

void checkRowChecksums(const CheckInput& input, Findings& findings) {
  const std::int64_t parts = input.full ? 1 : std::max(1, input.manifest.scrubPeriod);
  for (const SharedMap& shared : storedMaps(input)) {
    const RowList list = rowList(shared, input.store.pool(shared.first()).slots(), input.scrubPart % parts, parts);
    std::vector<kernels::PoolView> pools;
    for (const CacheLayer layer : shared.layers) pools.push_back(input.store.pool(layer).view());
    const std::vector<std::uint8_t> verdicts = verifyRows(input.store.backend(), pools, list.slots);
    for (std::size_t at = 0; at < pools.size(); ++at) {
      const CacheLayer layer = shared.layers[at];
      for (std::size_t i = 0; i < list.slots.size(); ++i) {
        if (!(verdicts[at * list.slots.size() + i] & kernels::kRowBadChecksum)) continue;
        const std::size_t index = list.indices[i];
        findings.add({layer, index, shared.map->ledger[index]},
                     shared.name(layer) + ", index " + std::to_string(index) + ": slot " +
                         std::to_string(list.slots[i]) + " of " + rowName(shared.map->ledger[index]) +
                         " does not match its checksum");
      }
    }
  }
}

}  // namespace kvlab
