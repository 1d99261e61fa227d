// SPDX-License-Identifier: Apache-2.0
// Calibrates what rows cost on the running machine from the passes it makes: least squares of time over rows and
// the rows that their queries look at, relative errors, older passes fading. One owner; engine thread.
#pragma once
#include <cstdint>

#include "core/wlod/invalidation.h"

namespace kvlab {

class CostMeter {
 public:
  /// rows, pairs: of one pass through all layers; microseconds.
  void add(std::int64_t rows, std::int64_t pairs, double us);
  /// `before` until passes were added, and its threshold always.
  RecomputeCosts costs(const RecomputeCosts& before) const;

 private:
  static constexpr double kFading = 0.98;
  double m_rr = 0, m_rp = 0, m_pp = 0, m_ru = 0, m_pu = 0;  // weighted sums of products
};

}  // namespace kvlab
