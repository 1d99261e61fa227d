// SPDX-License-Identifier: GPL-3.0-or-later
// Painted parts that canvases share: ruler and token texts along an axis, outlines of cells, legend lines and the
// readout line. GUI thread. Device-independent pixels.
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

constexpr double kTokenScale = 10.5;  // pixels per item from which token texts fit
constexpr double kWideScale = 46;     // pixels per item from which texts are horizontal
constexpr int kLegendLine = 18;       // height of a line of a legend
constexpr int kReadout = 26;          // height of a painted readout line

/// Paints item numbers along the top of a canvas that is `width` wide; the axis starts at the left of `ruler`.
void paintRuler(QPainter& painter, const QRect& ruler, int width, const AxisMap& axis, const Theme& theme);
/// Paints the texts of visible items, vertically if they do not fit horizontally; the `marked` item is bold. Texts
/// start at the bottom of the room; if `hanging`, they end at its top.
void paintTokenTexts(QPainter& painter, const QRect& room, const AxisMap& axis, int marked,
                     const std::function<QString(int item)>& textOf, const Theme& theme, bool hanging = false);
/// Text of a token, without its leading space.
QString shortTokenText(const Snapshot& snapshot, LedgerId id);
/// A triangle that points at `tip`; with `tall` > 0 its base is below the tip.
void paintArrow(QPainter& painter, QPointF tip, double tall, const QColor& colour);
/// A frame that is visible on light and dark cells.
void paintOutline(QPainter& painter, const QRectF& box, const QColor& colour, int wide, const Theme& theme);
/// A cell that a check has found wrong: a frame and a cross, large enough to be seen at any zoom, around the frame of a
/// focused cell.
void paintFinding(QPainter& painter, const QRectF& box, const Theme& theme);
/// A line below a canvas: the readout, or a hint how to get one; a remark at its right, `wrong` in red.
void paintReadout(QPainter& painter, const QRect& line, const QString& text, const QString& hint, const Theme& theme,
                  const QString& note = {}, bool wrong = false);
/// A legend entry: words, and a mark of the given width to their left.
struct LegendEntry {
  QString words;
  int room;
  std::function<void(QPainter& painter, const QRect& box)> mark;  // at the left of the box, centred
};
/// The legend entry for the marks of paintFinding.
LegendEntry findingLegend(const Theme& theme);
/// Height of the legend with entries in lines from left to right.
int legendHeight(const std::vector<LegendEntry>& legend, int width);
void paintLegend(QPainter& painter, const QRect& area, const std::vector<LegendEntry>& legend, const Theme& theme);
/// A strip of the colours of a table between two indices, as the mark of a legend entry.
void paintColours(QPainter& painter, const QRectF& box, const ColourTable& table, int from = 1, int to = 255);

}  // namespace kvlab
