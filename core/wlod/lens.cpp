// SPDX-License-Identifier: Apache-2.0
#include "core/wlod/lens.h"

#include <algorithm>
#include <numeric>

namespace kvlab {

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
