// SPDX-License-Identifier: Apache-2.0
#include "core/edit/group_pass.h"

#include <algorithm>
#include <limits>

#include "core/state/provenance.h"

namespace kvlab {
namespace {

/// Number of map rows before a position of the context. The rows of a map are in context order, so that a walk from the
/// end counts them, too: newest rows are near.
std::size_t rowsBefore(const ResidencyView& map, const Column<LedgerId>& context, std::size_t position) {
  std::size_t index = map.size();
  for (std::size_t p = context.size(); p > position && index > 0; --p)
    if (map.ledger[index - 1] == context[p - 1]) --index;
  return index;
}

}  // namespace

GroupPass groupPass(const Column<LedgerId>& context, const LayerGroup& group, std::span<const RowTarget> rows,
                    bool cachePhases, LeftRows left) {
  GroupPass pass;
  for (std::vector<std::int32_t>* column : {&pass.phase, &pass.rowBegin, &pass.rowEnd}) column->reserve(rows.size());
  pass.resident.reserve(rows.size());
  const ResidencyView& map = *group.map;
  const bool whole = map.size() == context.size();
  const std::int32_t first = left == LeftRows::Gone ? map.first : 0;
  std::size_t index = 0, position = 0;
  if (!whole && !rows.empty() && at(rows.front().position) > context.size() / 2) {
    position = at(rows.front().position);
    index = rowsBefore(map, context, position);
  }
  for (const RowTarget& row : rows) {
    const auto target = static_cast<std::size_t>(row.position);
    if (whole) index = target;
    for (; !whole && position < target; ++position)
      if (index < map.size() && map.ledger[index] == context[position]) ++index;
    const bool counted = index < map.size() && map.ledger[index] == row.id;
    const auto i = static_cast<std::int32_t>(index);
    const bool resident = counted && i >= first;
    const std::int32_t phase = counted ? map.phases[index] : cachePhases ? i : row.phase;
    pass.phase.push_back(phase);
    pass.rowBegin.push_back(std::min(i, std::max(first, windowBegin(map, phase, group.window))));
    pass.rowEnd.push_back(resident ? i + 1 : i);
    pass.resident.push_back(resident);
    pass.allResident = pass.allResident && resident;
  }
  return pass;
}

namespace {

void pad(Column<float>& column, std::size_t size) {
  if (column.size() >= size) return;
  column.append(std::vector<float>(size - column.size(), std::numeric_limits<float>::quiet_NaN()));
}

void keep(Column<float>& column, const std::vector<RowTarget>& rows, const std::vector<float>& scores,
          std::size_t heads) {
  std::size_t i = 0;
  std::vector<float> changed;  // a copy of the column, if old rows are overwritten
  for (; i < rows.size(); ++i) {
    const std::size_t place = at(rows[i].id.value()) * heads;
    const std::span<const float> own = std::span(scores).subspan(i * heads, heads);
    if (place >= column.size() && changed.empty()) {
      pad(column, place);
      column.append(own);
      continue;
    }
    if (changed.empty()) changed.assign(column.begin(), column.end());
    changed.resize(std::max(changed.size(), place + heads), std::numeric_limits<float>::quiet_NaN());
    std::copy(own.begin(), own.end(), changed.begin() + static_cast<std::ptrdiff_t>(place));
  }
  if (!changed.empty()) column.assign(changed);
}

}  // namespace

void keepGateScores(CacheState& state, const std::vector<RowTarget>& rows,
                    const std::vector<std::vector<float>>& scores, int kvHeads) {
  if (scores.empty()) return;
  state.gateScores.resize(scores.size());
  for (std::size_t layer = 0; layer < scores.size(); ++layer)
    keep(state.gateScores[layer], rows, scores[layer], at(kvHeads));
}

}  // namespace kvlab
