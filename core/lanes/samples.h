// SPDX-License-Identifier: Apache-2.0
// A series of samples with its summary kept up to date; the summary equals summarise() of all samples
// (core/analysis/metrics.h). Adding a sample moves the larger ones. One owner; any thread.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/api/summary.h"

namespace kvlab {

class Samples {
 public:
  void add(double sample) {
    if (std::isnan(sample)) return;
    m_sorted.insert(std::upper_bound(m_sorted.begin(), m_sorted.end(), sample), sample);
    m_sum += sample;
    m_last = sample;
  }
  Summary summary() const {
    const std::size_t n = m_sorted.size();
    if (n == 0) return {};
    const double upper = m_sorted[n / 2], lower = m_sorted[(n - 1) / 2];
    return {m_sum / static_cast<double>(n), m_last, (lower + upper) / 2, m_sorted[(99 * n + 99) / 100 - 1],
            static_cast<std::int64_t>(n)};
  }

 private:
  std::vector<double> m_sorted;
  double m_sum = 0, m_last = 0;
};

}  // namespace kvlab
