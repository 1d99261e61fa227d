// SPDX-License-Identifier: Apache-2.0
// A series of samples in five numbers (core/analysis/metrics.h says how each is defined). Value; any thread.
#pragma once
#include <cstdint>

namespace kvlab {

struct Summary {
  double mean = 0, last = 0;
  double median = 0;       // the middle one; of an even number the mean of the two in the middle
  double p99 = 0;          // nearest rank: the smallest sample that 99 % are not above
  std::int64_t count = 0;  // 0 = there was none, and the others mean nothing
};

}  // namespace kvlab
