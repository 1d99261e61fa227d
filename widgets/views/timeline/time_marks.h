// SPDX-License-Identifier: GPL-3.0-or-later
// Marks at ticks of the time line: edits of the history, events of the focused row, hits of breakpoints; how each
// looks, and which fall on which column of pixels. Values; painting on the GUI thread.
#pragma once
#include <QColor>
#include <QPointF>
#include <QString>
#include <cstdint>
#include <string>
#include <vector>

#include "widgets/canvas/axis_map.h"

class QPainter;

namespace kvlab {

struct Theme;

enum class MarkSort : std::uint8_t {
  Prompt,   // tokens came from outside
  Edited,   // tokens or rows were changed
  Rebuilt,  // rows were computed again
  Setting,  // storage, policies, rules
  Damage,   // on purpose, by the fault drill
  RowCame,
  RowLeft,
  RowChanged,
  RowDamaged,
  RowNoted,
  Stop,     // a breakpoint held
  Written,  // a note or a bookmark
};
inline constexpr int kMarkSorts = 12, kEditSorts = 5;

struct TimeMark {
  std::int64_t tick = 0;
  MarkSort sort = MarkSort::Edited;
  QString words = {};
};

/// The sort of an edit that a verb made.
MarkSort sortOfEdit(const std::string& sort);
/// The sort of an event of a row, as the verb `history` names it.
MarkSort sortOfEvent(const QString& event);
/// "edit", "breakpoint held": for legends.
QString wordsOf(MarkSort sort);
QColor colourOf(MarkSort sort, const Theme& theme);
void paintMark(QPainter& painter, QPointF middle, MarkSort sort, const Theme& theme);

/// [pixels] bit i is set where a mark of sort i falls on the column; several ticks may share one.
using MarkColumns = std::vector<std::uint16_t>;
/// Sets the bit in the column of the tick, if that is in sight.
void addMark(MarkColumns& columns, const AxisMap& axis, std::int64_t tick, MarkSort sort);
/// Paints columns whose middle line is at `y`: a column that stands alone and has one sort as a mark, others as bars
/// with a part for each sort, so that every sort of every column is seen.
void paintMarks(QPainter& painter, QPointF left, const MarkColumns& columns, const Theme& theme);

}  // namespace kvlab
