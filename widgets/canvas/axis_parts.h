// SPDX-License-Identifier: GPL-3.0-or-later
// What canvases paint alike: the ruler and the token texts over an axis, outlines of cells, lines of a legend and the
// line that reads out. GUI thread. Device-independent pixels.
#pragma once
#include <QRect>
#include <QString>
#include <functional>
#include <vector>

#include "core/api/snapshot.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/axis_map.h"
#include "widgets/canvas/colour_map.h"

class QPainter;

namespace kvlab {

constexpr double kTokenScale = 10.5;  // pixels per item from which token texts have room
constexpr double kWideScale = 46;     // from which they are written across
constexpr int kLegendLine = 18;       // height of a line of a legend
constexpr int kReadout = 26;          // height of a painted readout line

/// Numbers of items along the top of a canvas that is `width` wide; the axis begins at the left of `ruler`.
void paintRuler(QPainter& painter, const QRect& ruler, int width, const AxisMap& axis, const Theme& theme);
/// The texts of the items in sight, upright while they have no room across; `marked` is stronger. They stand on the
/// foot of the room, or, `hanging`, end at its top.
void paintTokenTexts(QPainter& painter, const QRect& room, const AxisMap& axis, int marked,
                     const std::function<QString(int item)>& textOf, const Theme& theme, bool hanging = false);
/// The text of a token where its leading space says nothing new.
QString shortTokenText(const Snapshot& snapshot, LedgerId id);
/// A triangle that points at `tip`; `tall` > 0: its base is below.
void paintArrow(QPainter& painter, QPointF tip, double tall, const QColor& colour);
/// A frame that stands out from light and from dark cells.
void paintOutline(QPainter& painter, const QRectF& box, const QColor& colour, int wide, const Theme& theme);
/// A line below a canvas: what is read out, or how to get something there; a remark at its right, `wrong` in red.
void paintReadout(QPainter& painter, const QRect& line, const QString& text, const QString& hint, const Theme& theme,
                  const QString& note = {}, bool wrong = false);
/// An entry of a legend: words, and left of them a mark that has so much room.
struct LegendEntry {
  QString words;
  int room;
  std::function<void(QPainter& painter, const QRect& box)> mark;  // from the left of the box, in its middle
};
/// In lines, from left to right.
int legendHeight(const std::vector<LegendEntry>& legend, int width);
void paintLegend(QPainter& painter, const QRect& area, const std::vector<LegendEntry>& legend, const Theme& theme);
/// The colours of a table from one index to another, as the mark of an entry.
void paintColours(QPainter& painter, const QRectF& box, const ColourTable& table, int from = 1, int to = 255);

}  // namespace kvlab
