// SPDX-License-Identifier: Apache-2.0
// When each invariant, and each slice of the rows, last passed a check on the way to the present state. Owned by the
// alignment log; engine thread.
#pragma once
#include "core/parts/kinds.h"
#include "core/session/timeline.h"

namespace kvlab {

/// The state that a check has passed.
struct CheckMark {
  Tick tick{-1};            // -1 = none has
  std::int32_t depth = -1;  // commits before it on the way from the start
  std::int32_t visit = 0;   // as CheckMade
};

class CheckMarks {
 public:
  CheckMarks();

  /// The invariants that a check with these violations has passed.
  static CheckMade made(const std::vector<Violation>& violations, bool full, std::int64_t part, std::int64_t parts);
  /// True if one of the checks named something.
  static bool anyNamed(const std::vector<CheckMade>& checks);
  /// A check of a state; later states come later.
  void add(const CheckMade& made, const CheckMark& mark);
  /// Marks of the checks on the way to the present state.
  static CheckMarks along(const Timeline& timeline);

  /// The last check that looked at the invariant and found nothing; the tick since when all it looks at has passed.
  CheckMark last(std::size_t invariant) const { return m_last[invariant]; }
  Tick all(std::size_t invariant) const;
  /// The last check in which the invariant passed the row; without a row, passed everything.
  CheckMark passed(std::size_t invariant, std::optional<LedgerId> row) const;

 private:
  static int oldestThatMatters(const Timeline& timeline);
  bool complete(bool full) const;

  std::vector<CheckMark> m_last;    // [invariants]
  std::vector<CheckMark> m_passed;  // [invariants] all but the rows that it named
  std::vector<CheckMark> m_slices;  // [parts] the same of a slice
};

}  // namespace kvlab
