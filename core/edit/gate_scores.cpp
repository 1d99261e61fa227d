// SPDX-License-Identifier: Apache-2.0
#include "core/edit/gate_scores.h"

#include <algorithm>
#include <limits>

namespace kvlab {
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
