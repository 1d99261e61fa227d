// SPDX-License-Identifier: Apache-2.0
// No layer holds more rows than its capacity or window, and each pool has room for its rows.
#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {

void checkCapacity(const CheckInput& input, Findings& findings) {
  for (const SharedMap& shared : sharedMaps(input)) {
    const auto rows = static_cast<std::int64_t>(shared.map->resident());
    const auto where = [&] { return shared.name() + ": " + std::to_string(rows) + " rows"; };
    const std::int64_t most = shared.group->keep ? shared.group->keep
        : shared.group->capacity                 ? shared.group->capacity
                                                 : input.capacity;
    if (most > 0 && rows > most)
      findings.add({shared.first(), {}, {}},
                   where() + (shared.group->keep ? ", the window is " : ", the capacity is ") + std::to_string(most));
    for (const CacheLayer layer : shared.layers)
      if (rows > input.store.pool(layer).slots())
        findings.add({layer, {}, {}},
                     where() + ", the pool has " + std::to_string(input.store.pool(layer).slots()) + " slots");
  }
}

}  // namespace kvlab
