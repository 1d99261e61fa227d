// SPDX-License-Identifier: Apache-2.0
// Estimates the cost of rows on this machine from measured passes: least squares of time over rows and over attended
// rows, with relative errors. Older passes have less weight. One owner; engine thread.
#pragma once
#include <cstdint>

#include "core/kinds/wlod/tree/invalidation.h"

namespace kvlab {

class CostMeter {
 public:
  /// Adds a pass through all layers: rows, pairs and microseconds.
  void add(std::int64_t rows, std::int64_t pairs, double us);
  /// The measured costs with the threshold of `before`; `before` itself until a pass was added.
  RecomputeCosts costs(const RecomputeCosts& before) const;

 private:
  static constexpr double kFading = 0.98;
  double m_rr = 0, m_rp = 0, m_pp = 0, m_ru = 0, m_pu = 0;  // weighted sums of products
};

}  // namespace kvlab
