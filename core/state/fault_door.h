// SPDX-License-Identifier: Apache-2.0
// Makes the n-th allocation, kernel or copy from now on fail, for the fault drill, and knows the bug that is planted.
// Closed unless the manifest enables faults. Owned by a session; engine thread.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "core/api/error.h"

namespace kvlab {

enum class FaultPoint : std::uint8_t { Allocation, Kernel, Copy };

struct BugKind;  // core/bugs/bug_kind.h

class FaultDoor {
 public:
  /// From now on a known bug corrupts live passes; null = no bug.
  void plant(const BugKind* bug) { m_bug = bug; }
  const BugKind* bug() const { return m_bug; }
  /// Makes the n-th following pass() of `point` (from 1) fail once.
  void arm(FaultPoint point, std::int64_t n) { m_left[slot(point)] = n; }
  void disarm() { m_left = {}; }
  bool armed() const { return m_left != std::array<std::int64_t, 3>{}; }

  /// Every step that may fail calls this first. Error (code fault) if a failure is due.
  Status pass(FaultPoint point, const char* where) {
    std::int64_t& left = m_left[slot(point)];
    if (left == 0 || --left > 0) return ok();
    return Error{"fault", std::string(where).append(" failed"), "the fault drill made it fail",
                 "nothing: the failure was armed on purpose"};
  }

 private:
  friend class ClosedDoor;
  static std::size_t slot(FaultPoint point) { return static_cast<std::size_t>(point); }
  std::array<std::int64_t, 3> m_left{};
  const BugKind* m_bug = nullptr;
};

/// While it lives nothing that is armed fires or is counted down, because a query must not set off what is meant for a
/// change; it is armed again at the end. A planted bug stays: passes that only look have it, too. On the stack.
class ClosedDoor {
 public:
  explicit ClosedDoor(FaultDoor& door) : m_door(door), m_was(door) { m_door.disarm(); }
  ClosedDoor(const ClosedDoor&) = delete;
  ClosedDoor& operator=(const ClosedDoor&) = delete;
  ~ClosedDoor() { m_door.m_left = m_was.m_left; }

 private:
  FaultDoor& m_door;
  const FaultDoor m_was;
};

}  // namespace kvlab
