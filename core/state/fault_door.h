// SPDX-License-Identifier: Apache-2.0
// The door of the fault drill: makes the n-th allocation, kernel or copy from now on fail. Closed
// unless the manifest opens it. Owned by a session; engine thread.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "core/api/error.h"

namespace kvlab {

enum class FaultPoint : std::uint8_t { Allocation, Kernel, Copy };

class FaultDoor {
 public:
  /// The n-th pass (from 1) of `point` from now fails, once.
  void arm(FaultPoint point, std::int64_t n) { m_left[slot(point)] = n; }
  void disarm() { m_left = {}; }
  bool armed() const { return m_left != std::array<std::int64_t, 3>{}; }

  /// Every fallible step passes here first.
  Status pass(FaultPoint point, const char* where) {
    std::int64_t& left = m_left[slot(point)];
    if (left == 0 || --left > 0) return ok();
    return Error{"fault", std::string(where).append(" failed"), "the fault drill made it fail",
                 "nothing to do: this failure was asked for"};
  }

 private:
  static std::size_t slot(FaultPoint point) { return static_cast<std::size_t>(point); }
  std::array<std::int64_t, 3> m_left{};
};

}  // namespace kvlab
