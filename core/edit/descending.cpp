// SPDX-License-Identifier: Apache-2.0
#include "core/edit/descending.h"

#include <algorithm>

namespace kvlab {
namespace {

/// Number of rows of a map to the left of a context position.
std::size_t rowsLeftOf(const CacheState& state, const ResidencyView& map, std::int32_t cut) {
  if (state.whole(map)) return at(cut);
  std::size_t index = 0;
  for (std::int32_t p = 0; p < cut && index < map.size(); ++p)
    if (map.ledger[index] == state.context[at(p)]) ++index;
  return index;
}

}  // namespace

RowsJob descendingJob(const CacheState& before, const CacheState& after, const EditPlan& plan,
                      const PlannedAction& detail, const LayerSlots& added, PositionMode mode) {
  const std::int32_t cut = detail.anchor.value();
  const std::size_t first = at(detail.newLedger.front().value() - before.ledger.nextId().value());
  RowsJob job;
  job.context = before.context.prefix(at(cut));
  job.contextSums = before.contextSums.prefix(at(cut) + 1);
  job.groupOf = after.groupOf;
  job.cachePhases = mode == PositionMode::Cache;
  for (std::size_t i = 0; i < detail.newLedger.size(); ++i) {
    const NewRow& row = plan.rows[first + i];
    const std::int32_t position = cut + static_cast<std::int32_t>(i);
    job.rows.push_back({row.id, row.token, position, mode == PositionMode::Absolute ? row.phase : position});
    job.context.push_back(row.id);
  }
  for (std::size_t g = 0; g < after.groups.size(); ++g) {
    const auto layer = CacheLayer(static_cast<std::int32_t>(
        std::find(after.groupOf.begin(), after.groupOf.end(), static_cast<std::int32_t>(g)) - after.groupOf.begin()));
    LayerGroup group = before.group(layer);
    const std::size_t left = rowsLeftOf(before, *group.map, cut);
    auto view = std::make_shared<ResidencyView>();
    view->ledger = group.map->ledger.prefix(left);
    view->slotOf = group.map->slotOf.prefix(left);
    view->phases = group.map->phases.prefix(left);
    view->first = std::min(group.map->first, static_cast<std::int32_t>(left));
    for (std::size_t i = 0; i < job.rows.size(); ++i) {
      view->ledger.push_back(job.rows[i].id);
      view->slotOf.push_back(added[at(layer)][first + i]);
      view->phases.push_back(job.cachePhases ? static_cast<std::int32_t>(left + i) : job.rows[i].phase);
    }
    group.map = std::move(view);
    group.idSums = group.idSums.prefix(left + 1);
    group.phasedSums = group.phasedSums.prefix(left + 1);
    job.groups.push_back(std::move(group));
  }
  return job;
}

}  // namespace kvlab
