// SPDX-License-Identifier: Apache-2.0
#include "core/state/cache_state.h"

#include <algorithm>

namespace kvlab {
namespace {

std::shared_ptr<const ResidencyView> ownCopy(const ResidencyView& map) {
  auto copy = std::make_shared<ResidencyView>(map);
  copy->ledger = map.ledger.ownCopy();
  copy->phases = map.phases.ownCopy();
  copy->slotOf = map.slotOf.ownCopy();
  return copy;
}

}  // namespace

std::int64_t CacheState::reach() const {
  if (phases.empty()) return 0;
  std::int64_t longest = 0;
  for (const LayerGroup& group : groups)  // in maps with the newest row, its phase is the last
    if (group.map && group.map->size() > 0 && group.map->ledger[group.map->size() - 1] == context[context.size() - 1])
      longest = std::max(longest, std::int64_t{group.map->phases[group.map->size() - 1]} + 1);
  return kind->derivesContext() || longest == 0 ? std::int64_t{phases[phases.size() - 1]} + 1 : longest;
}

void forgetPasts(CacheState& state, std::span<const LedgerId> rows, CacheLayer from) {
  for (std::size_t layer = at(from); layer < state.pasts.size(); ++layer) {
    Column<RowPast>& column = state.pasts[layer];
    std::vector<RowPast> all;
    for (const LedgerId id : rows) {
      if (at(id.value()) >= column.size()) break;
      if (all.empty()) all.assign(column.begin(), column.end());
      all[at(id.value())] = {};
    }
    if (!all.empty()) column.assign(all);
  }
}

CacheState ownCopy(const CacheState& state) {
  CacheState copy = state;
  copy.ledger = state.ledger.ownCopy();
  copy.context = state.context.ownCopy();
  copy.phases = state.phases.ownCopy();
  copy.brightness = state.brightness.ownCopy();
  copy.birthPhases = state.birthPhases.ownCopy();
  copy.contextSums = state.contextSums.ownCopy();
  copy.ramp = state.ramp.ownCopy();
  for (LayerGroup& group : copy.groups) {
    group.map = ownCopy(*group.map);
    if (group.all) group.all = ownCopy(*group.all);
    group.provenance = group.provenance.ownCopy();
    group.writers = group.writers.ownCopy();
    group.evicted = group.evicted.ownCopy();
    group.idSums = group.idSums.ownCopy();
    group.phasedSums = group.phasedSums.ownCopy();
  }
  copy.kind = state.kind->ownCopy();
  for (Column<float>& column : copy.gateScores) column = column.ownCopy();
  for (Column<RowPast>& column : copy.pasts) column = column.ownCopy();
  return copy;
}

ResidencyView& ownMap(CacheState& state, CacheLayer layer) {
  auto map = std::make_shared<ResidencyView>(state.map(layer));
  ResidencyView& own = *map;
  LayerGroup group = state.group(layer);
  group.map = std::move(map);
  group.idSums = group.phasedSums = {};  // the caller changes the rows that they add up
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
