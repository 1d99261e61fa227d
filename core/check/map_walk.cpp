// SPDX-License-Identifier: Apache-2.0
#include "core/check/map_walk.h"

#include <algorithm>

namespace kvlab {

std::size_t SharedMap::rows() const { return std::min({map->ledger.size(), map->slotOf.size(), map->phases.size()}); }

std::string SharedMap::name() const {
  if (layers.size() == 1) return name(first());
  const bool run = at(layers.back()) - at(first()) + 1 == layers.size();
  return "layers " + all.name(first()) + (run ? "-" : " .. ") + all.name(layers.back());
}

std::vector<SharedMap> sharedMaps(const CheckInput& input) {
  const CacheState& state = input.state;
  std::vector<SharedMap> all;
  for (const LayerGroup& group : state.groups) all.push_back({&group, group.map.get(), state.cacheLayers()});
  for (const CacheLayer layer : state.layers() | std::views::take(input.store.layers().size())) {
    const std::int32_t g = state.groupOf[at(layer)];
    if (g >= 0 && static_cast<std::size_t>(g) < all.size()) all[static_cast<std::size_t>(g)].layers.push_back(layer);
  }
  std::erase_if(all, [](const SharedMap& shared) { return !shared.map || shared.layers.empty(); });
  return all;
}

std::vector<SharedMap> storedMaps(const CheckInput& input) {
  std::vector<SharedMap> maps = sharedMaps(input);
  for (SharedMap& shared : maps) shared.map = &shared.group->stored();
  return maps;
}

std::string rowName(LedgerId id) { return "ledger row " + std::to_string(id.value()); }

RowList rowList(const SharedMap& shared, std::int32_t poolSlots, std::int64_t part, std::int64_t parts) {
  RowList list;
  const std::size_t rows = shared.rows();
  const std::size_t expected = rows / static_cast<std::size_t>(std::max<std::int64_t>(1, parts)) + 1;
  list.slots.reserve(expected);
  list.tags.reserve(expected);
  list.indices.reserve(expected);
  const auto every = static_cast<std::int32_t>(parts);  // a division of 64 bits takes longer than the rest
  for (auto i = static_cast<std::size_t>(shared.map->first); i < rows; ++i) {
    const LedgerId id = shared.map->ledger[i];
    const std::int32_t slot = shared.map->slotOf[i].value();
    if (slot < 0 || slot >= poolSlots) continue;
    if (every > 1 && id.value() % every != part) continue;
    list.slots.push_back(slot);
    list.tags.push_back(static_cast<std::uint64_t>(id.value()));
    list.indices.push_back(i);
  }
  return list;
}

}  // namespace kvlab
