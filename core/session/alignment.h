// SPDX-License-Identifier: Apache-2.0
// Findings of the invariants that no later check has cleared, and when each one was checked: the one place that all
// lamps read. Owned by a session; engine thread.
#pragma once
#include "core/api/report.h"
#include "core/api/snapshot.h"
#include "core/session/check_marks.h"

namespace kvlab {

class AlignmentLog {
 public:
  AlignmentLog();

  /// Takes the violations that a check of the present state has found, in place of the known ones. Known ones stay
  /// for invariants that the check did not look at whole. Gives every violation the ticks between which it came; one
  /// that a check names again keeps them, and its blame. Returns the record of the check for the timeline.
  CheckMade take(std::vector<Violation>& violations, CheckMade made, const CacheState& state, const Timeline& timeline);
  bool anyFinding() const { return !m_known.findings.empty(); }
  /// One line for each invariant, in their order.
  const std::vector<InvariantState>& lines() const { return m_lines; }
  /// The last tick after which a check has passed the row's bytes; none since the row came.
  std::optional<Tick> verified(const LedgerRow& row, LedgerId id) const;
  const std::vector<Finding>& findings() const { return m_known.findings; }
  /// The alignment for readers.
  Alignment tell(const Timeline& timeline) const;
  /// The session has gone from one tick to another state of the timeline.
  void travelled(Tick from, const Timeline& timeline);
  /// The timeline starts anew.
  void forget() { *this = AlignmentLog(); }
  /// The session lives on in a copy with the way to its state as timeline.
  void follow(const Timeline& from, const Timeline& to) { m_entry = m_entry == from.currentId() ? to.currentId() : -1; }

 private:
  CheckMark passed(const Violation& violation) const;
  DamageSince since(const Violation& violation, const CacheState& state) const;
  std::string blame(const Violation& violation, const CacheState& state, const Timeline& timeline) const;
  void tellLines(Tick tick);

  Alignment m_known;
  std::vector<InvariantState> m_lines;
  int m_entry = -1;          // entry of the timeline that was checked last
  CheckMarks m_marks;        // as the timeline has noted them
  std::vector<Tick> m_left;  // [visits] ticks from which the session went through its history
};

}  // namespace kvlab
