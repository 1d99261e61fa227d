// SPDX-License-Identifier: Apache-2.0
#include "core/state/policy_state.h"

namespace kvlab {

std::vector<float> alignedWith(const ResidencyView& map, const RowValues& from, int lists, float unknown) {
  const std::size_t rows = map.size(), count = static_cast<std::size_t>(lists);
  std::vector<float> out(count * rows, unknown);
  if (!from.map || from.values.size() != count * from.map->size()) return out;
  // Both maps are in context order: equal prefixes line up, and one walk matches the rest.
  const Column<LedgerId>& old = from.map->ledger;
  for (std::size_t i = 0, j = 0; i < rows && j < old.size(); ++i) {
    std::size_t found = j;
    while (found < old.size() && old[found] != map.ledger[i]) ++found;
    if (found == old.size()) continue;
    j = found + 1;
    for (std::size_t list = 0; list < count; ++list) out[list * rows + i] = from.values[list * old.size() + found];
  }
  return out;
}

}  // namespace kvlab
