// SPDX-License-Identifier: Apache-2.0
// No stored key or value is NaN or infinite. Only full checks test it, because it reads every row.
#include <algorithm>
#include <cmath>

#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

constexpr std::size_t kRowsGathered = 512;  // rows gathered at a time

bool finite(const float* values, std::int64_t n) {
  bool all = true;
  for (std::int64_t i = 0; i < n; ++i) all = all && std::isfinite(values[i]);
  return all;
}

void checkLayer(const CheckInput& input, const SharedMap& shared, const RowList& list, CacheLayer layer,
                Findings& findings) {
  const RowPool& pool = input.store.pool(layer);
  const std::int64_t width = pool.width();
  std::vector<float> k(kRowsGathered * static_cast<std::size_t>(width)), v(k.size());
  for (std::size_t begin = 0; begin < list.slots.size(); begin += kRowsGathered) {
    const std::size_t n = std::min(kRowsGathered, list.slots.size() - begin);
    pool.gather({list.slots.data() + begin, n}, k.data(), v.data());
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i) * width;
      const bool keys = finite(k.data() + at, width);
      if (keys && finite(v.data() + at, width)) continue;
      const std::size_t index = list.indices[begin + i];
      findings.add({layer, index, shared.map->ledger[index]},
                   shared.name(layer) + ", index " + std::to_string(index) + ": the " + (keys ? "value" : "key") +
                       " of " + rowName(shared.map->ledger[index]) + " is not finite");
    }
  }
}

}  // namespace

void checkFiniteRows(const CheckInput& input, Findings& findings) {
  if (!input.full) return;
  for (const SharedMap& shared : storedMaps(input)) {
    const RowList list = rowList(shared, input.store.pool(shared.first()).slots());
    for (const CacheLayer layer : shared.layers) checkLayer(input, shared, list, layer, findings);
  }
}

}  // namespace kvlab
