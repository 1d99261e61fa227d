// SPDX-License-Identifier: Apache-2.0
// Estimates the cost of rows on the running machine from its passes: least squares of time over rows and over the
// rows that their queries look at, with relative errors; older passes count less. One owner; engine thread.
#pragma once
#include <cstdint>

#include "core/wlod/invalidation.h"

namespace kvlab {

class CostMeter {
 public:
  /// rows and pairs of one pass through all layers, and its microseconds.
  void add(std::int64_t rows, std::int64_t pairs, double us);
  /// The measured costs with the threshold of `before`; `before` itself until there was a pass.
  RecomputeCosts costs(const RecomputeCosts& before) const;

 private:
  static constexpr double kFading = 0.98;
  double m_rr = 0, m_rp = 0, m_pp = 0, m_ru = 0, m_pu = 0;  // weighted sums of products
};

}  // namespace kvlab
