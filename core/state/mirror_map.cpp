// SPDX-License-Identifier: Apache-2.0
#include "core/state/mirror_map.h"

#include <algorithm>

namespace kvlab {
namespace {

struct MirrorRows {
  std::vector<LedgerId> ids;
  std::vector<std::int32_t> phases;
};

MirrorRows rowsByMirror(const CacheState& state, const LayerGroup& group, bool cachePhases) {
  std::vector<bool> evicted(state.ledger.size());
  for (const LedgerId id : group.evicted)
    if (state.ledger.contains(id)) evicted[at(id.value())] = true;
  MirrorRows out;
  for (std::size_t position = 0; position < state.context.size(); ++position) {
    const LedgerId id = state.context[position];
    if (evicted[at(id.value())]) continue;
    out.phases.push_back(cachePhases ? static_cast<std::int32_t>(out.ids.size()) : state.phases[position]);
    out.ids.push_back(id);
  }
  return out;
}

}  // namespace

std::vector<LedgerId> lackedBy(const Column<LedgerId>& context, const ResidencyView& map) {
  std::vector<LedgerId> out;
  std::size_t index = 0;
  for (const LedgerId id : context)
    if (index < map.ledger.size() && map.ledger[index] == id) ++index;
    else out.push_back(id);
  return out;
}

bool followsMirror(const CacheState& state, const LayerGroup& group, bool cachePhases) {
  const ResidencyView& map = *group.map;
  const MirrorRows wanted = rowsByMirror(state, group, cachePhases);
  return std::ranges::equal(map.ledger.span(), wanted.ids) && std::ranges::equal(map.phases.span(), wanted.phases) &&
      map.slotOf.size() == wanted.ids.size() && map.first >= 0 && at(map.first) <= map.size();
}

std::shared_ptr<const ResidencyView> mapByMirror(const CacheState& state, const LayerGroup& group, bool cachePhases) {
  const MirrorRows rows = rowsByMirror(state, group, cachePhases);
  const auto size = static_cast<std::int32_t>(rows.ids.size());
  auto map = std::make_shared<ResidencyView>();
  const bool whole = rows.ids.size() == state.context.size();  // then it shares the mirror's columns
  map->ledger = whole ? state.context : Column<LedgerId>(rows.ids);
  map->phases = whole && !cachePhases ? state.phases : Column<std::int32_t>(rows.phases);
  map->slotOf.assign(std::vector<Slot>(rows.ids.size(), Slot(-1)));
  map->first = std::clamp(group.map->first, group.keep ? std::max(0, size - group.keep) : 0, size);
  return map;
}

}  // namespace kvlab
