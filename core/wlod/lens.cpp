// SPDX-License-Identifier: Apache-2.0
#include "core/wlod/lens.h"

#include <algorithm>
#include <numeric>

namespace kvlab {

std::vector<double> entryMass(const WorkingContext& context, std::span<const WlodRow> rows, std::span<const std::vector<float>> layers,
                              std::span<const double> weights) {
  std::vector<double> out(static_cast<std::size_t>(context.cost()));
  double whole = 0;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) whole += weights.empty() ? 1 : weights[layer];
  for (std::size_t row = 0; row < rows.size(); ++row) {
    double mass = 0;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) mass += (weights.empty() ? 1 : weights[layer]) * static_cast<double>(layers[layer][row]);
    const TreeNode node = rows[row].node;
    for (std::int32_t i = context.entryAt(node.start); mass > 0 && i < context.cost(); ++i) {
      const TreeNode entry = context.entries()[static_cast<std::size_t>(i)];
      if (entry.start >= node.end()) break;
      out[static_cast<std::size_t>(i)] += mass / whole * entry.span() / node.span();
    }
  }
  return out;
}

std::vector<double> attentionScores(std::span<const double> mass) {
  constexpr double kEdge = 1e-9;  // scores stay inside (-1, 1)
  std::vector<double> out(mass.size(), 0.0);
  const double mean = std::accumulate(mass.begin(), mass.end(), 0.0) / static_cast<double>(std::max<std::size_t>(1, mass.size()));
  if (!(mean > 0)) return out;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    const double r = mass[i] / mean;
    out[i] = std::clamp((r - 1) / (r + 1), kEdge - 1, 1 - kEdge);
  }
  return out;
}

}  // namespace kvlab
