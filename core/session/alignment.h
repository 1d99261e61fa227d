// SPDX-License-Identifier: Apache-2.0
// Findings of the invariants that no later check has cleared, and when each one was checked: the one place that all
// lamps read. Owned by a session; engine thread.
#pragma once
#include "core/api/report.h"
#include "core/api/snapshot.h"
#include "core/check/checks.h"
#include "core/session/check_marks.h"
#include "core/state/commit_deeds.h"

namespace kvlab {

class AlignmentLog {
 public:
  AlignmentLog();

  struct Passes {
    std::span<const Harm> harms = {};      // [violations] that passes have done, or fewer
    std::span<const PassDeed> deeds = {};  // of the last commit
    bool again = false;                    // commands are executed again: the timeline is another one meanwhile
    bool unread = false;                   // the back end failed: what the check read may not be the rows
  };
  /// Takes the violations that a check of the present state has found, in place of the known ones. Known ones stay
  /// for invariants that the check did not look at whole, and those that name harm until it is gone. Gives every
  /// violation the ticks between which it came; one that a check names again keeps them, and its blame. Returns the
  /// record of the check for the timeline.
  CheckMade take(std::vector<Violation>& violations, CheckMade made, const CacheState& state, const Timeline& timeline,
                 const Passes& passes);
  /// The last commit has computed all rows.
  void rebuilt(const Timeline& timeline);
  bool anyFinding() const { return !m_known.findings.empty(); }
  /// True if there are findings that a full check can clear.
  bool anyToLookAt() const;
  /// Rows that full checks read again, as CheckInput::doubted.
  std::vector<LedgerId> doubted() const;
  /// One line for each invariant, in their order.
  const std::vector<InvariantState>& lines() const { return m_lines; }
  /// The last tick after which a check has passed the row's bytes; none since the row came.
  std::optional<Tick> verified(const LedgerRow& row, LedgerId id) const;
  const std::vector<Finding>& findings() const { return m_known.findings; }
  /// The alignment for readers.
  Alignment tell(const Timeline& timeline) const;
  /// The session has gone from one tick to another state of the timeline.
  void travelled(Tick from, const Timeline& timeline, const CacheState& state);
  /// The timeline starts anew.
  void forget() { *this = AlignmentLog(); }
  /// The session lives on in a copy with the way to the entry `tip` as timeline.
  void follow(const Timeline& from, int tip, const Timeline& to);
  /// Entries behind this one are others now.
  void cut(int entry);

 private:
  /// Harm, or a damaged row, that a check has named, as long as its commit is in the history: other states may have it.
  struct Known {
    Finding finding;
    Harm harm;
    int entry = -1;                                         // the first that may have done it
    int found = -1;                                         // the last at which a check has named it
    LedgerId first{0}, last{0};                             // the rows
    std::shared_ptr<const std::vector<float>> logits = {};  // or these
    std::vector<int> again = {};  // entries from which on the rows are others, or were read and found right
  };
  static bool stands(const Known& known, const CacheState& state, const Timeline& timeline);
  const Known* harmOf(const Finding& finding) const;
  void note(const Finding& finding, const Harm& harm, const CacheState& state, const Timeline& timeline,
            std::span<const PassDeed> deeds);
  static void readRight(Known& known, const Timeline& timeline);
  void computed(std::span<const PassDeed> deeds, int entry);
  CheckMark passed(const Violation& violation) const;
  DamageSince since(const Violation& violation, const CacheState& state) const;
  std::string blame(const Violation& violation, const CacheState& state, const Timeline& timeline) const;
  void tellLines(Tick tick);

  Alignment m_known;
  std::vector<InvariantState> m_lines;
  int m_entry = -1;          // entry of the timeline that was checked last
  CheckMarks m_marks;        // as the timeline has noted them
  std::vector<Tick> m_left;  // [visits] ticks from which the session went through its history
  std::vector<Known> m_harm;
};

}  // namespace kvlab
