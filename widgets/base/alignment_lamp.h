// SPDX-License-Identifier: GPL-3.0-or-later
// The text of every lamp about cache and mirror: the known findings of all layers, else after which tick they were in
// step, else that nobody has checked. Pure functions of a snapshot; any thread.
#pragma once
#include <QColor>
#include <QString>

#include "core/api/snapshot.h"
#include "widgets/base/theme.h"

namespace kvlab {

struct AlignmentLamp {
  enum class State : std::uint8_t { InStep, Unchecked, Wrong };
  State state = State::Unchecked;
  QString text;  // "✓ in step, checked after tick 12"
  QString tip;   // all checks with their ticks, or every finding

  QColor colour(const Theme& theme) const;
};

/// "19 invariants hold, 3 not checked yet", "2 of 22 invariants are broken": the common words for these counts.
QString invariantsText(int all, int unchecked, int broken);

AlignmentLamp alignmentLamp(const Snapshot& snapshot);
/// "row_tags broken between tick 2 (verified) and tick 3 (found): layer 1, index 400: …; no command wrote the row …"
QString findingText(const Finding& finding);
/// Ledger row that a violation names, by its id or by its place in a map.
std::optional<LedgerId> violatedRow(const Snapshot& snapshot, const Violation& violation);
/// Context position of the row that a finding names; -1 = none.
std::int32_t findingPosition(const Snapshot& snapshot, const Finding& finding);

}  // namespace kvlab
