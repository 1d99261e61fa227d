// SPDX-License-Identifier: Apache-2.0
// Time since a moment. Values.
#pragma once
#include <chrono>

namespace kvlab {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - m_begin).count(); }
  double us() const { return 1e6 * seconds(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point m_begin = Clock::now();
};

}  // namespace kvlab
