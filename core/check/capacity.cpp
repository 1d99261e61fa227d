// SPDX-License-Identifier: Apache-2.0
// No layer holds more rows than the capacity, and its pool has room for them.
#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/map_walk.h"

namespace kvlab {

void checkCapacity(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("capacity", out);
  for (const SharedMap& shared : sharedMaps(input)) {
    const auto rows = static_cast<std::int64_t>(shared.map->size());
    const auto where = [&] { return shared.name() + ": " + std::to_string(rows) + " rows"; };
    if (input.capacity > 0 && rows > input.capacity)
      findings.add({shared.first(), {}, {}}, where() + ", the capacity is " + std::to_string(input.capacity));
    for (int layer : shared.layers)
      if (rows > input.store.pool(layer).slots())
        findings.add({layer, {}, {}}, where() + ", the pool has " +
                                          std::to_string(input.store.pool(layer).slots()) + " slots");
  }
}

}  // namespace kvlab
