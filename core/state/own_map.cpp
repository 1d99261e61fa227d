// SPDX-License-Identifier: Apache-2.0
#include "core/state/own_map.h"

#include <algorithm>

namespace kvlab {

ResidencyView& ownMap(CacheState& state, CacheLayer layer) {
  auto map = std::make_shared<ResidencyView>(state.map(layer));
  ResidencyView& own = *map;
  LayerGroup group = state.group(layer);
  group.map = std::move(map);
  std::int32_t& number = state.groupOf[at(layer)];
  if (std::ranges::count(state.groupOf, number) > 1) {
    number = static_cast<std::int32_t>(state.groups.size());
    state.groups.push_back(std::move(group));
  } else {
    state.groups[at(number)] = std::move(group);
  }
  return own;
}

}  // namespace kvlab
