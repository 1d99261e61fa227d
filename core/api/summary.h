// SPDX-License-Identifier: Apache-2.0
// A series of samples in five numbers, which core/analysis/metrics.h defines. Value; any thread.
#pragma once
#include <cstdint>

namespace kvlab {

struct Summary {
  double mean = 0, last = 0;
  double median = 0;       // the middle sample, or the mean of the two middle samples
  double p99 = 0;          // nearest rank: the smallest sample that at least 99 % do not exceed
  std::int64_t count = 0;  // 0 = no sample: the other numbers mean nothing
};

}  // namespace kvlab
