// SPDX-License-Identifier: Apache-2.0
// What the invariants have found and no later check has cleared, and what was checked when: the one place that all
// lamps read. Owned by a session; engine thread.
#pragma once
#include "core/api/alignment.h"
#include "core/session/timeline.h"

namespace kvlab {

class AlignmentLog {
 public:
  /// Takes what a check of the present state has found, in place of what was known; of what the check did not look at
  /// whole, what was known stays. A finding that a check names again keeps the tick of its first naming, and its blame.
  void take(const std::vector<Violation>& violations, bool full, const CacheState& state, const Timeline& timeline);
  bool anyFinding() const { return !m_known.findings.empty(); }
  /// What readers are told.
  Alignment tell(const Timeline& timeline) const;
  /// The session lives on in a copy with the way to its state as timeline.
  void follow(const Timeline& from, const Timeline& to) { m_entry = m_entry == from.currentId() ? to.currentId() : -1; }

 private:
  std::string blame(const Violation& violation, const CacheState& state, const Timeline& timeline) const;

  Alignment m_known;
  int m_entry = -1;                    // of the timeline, that was checked last
  std::vector<std::int32_t> m_passed;  // [invariants] commit after which all of it held; -1 = none
};

}  // namespace kvlab
