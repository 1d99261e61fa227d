// SPDX-License-Identifier: GPL-3.0-or-later
// What canvases have in common: the ruler and the token texts over an axis, the wheel, drags and keys that move
// along it, outlines of cells, lines of a legend and the line that reads out. GUI thread. Device-independent pixels.
#pragma once
#include <QPoint>
#include <QRect>
#include <QString>
#include <functional>
#include <optional>
#include <vector>

#include "core/api/snapshot.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/axis_map.h"

class QKeyEvent;
class QMouseEvent;
class QPainter;
class QWheelEvent;

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
/// A triangle that points at `tip`, in the painter's brush; `tall` > 0: its base is below.
void paintArrow(QPainter& painter, QPointF tip, double tall);
/// A frame that stands out from light and from dark cells.
void paintOutline(QPainter& painter, const QRectF& box, const QColor& colour, int wide, const Theme& theme);
/// A line below a canvas: what is read out, or how to get something there; a remark at its right.
void paintReadout(QPainter& painter, const QRect& line, const QString& text, const QString& hint, const Theme& theme,
                  const QString& note = {});
/// Where the entries of a legend stand that are so wide: in lines, from left to right.
std::vector<QRect> legendBoxes(const std::vector<int>& widths, const QRect& area);
int legendHeight(const std::vector<int>& widths, int width);

/// The wheel zooms about the pointer; turned sideways or with Shift it pans. `left`: where the axis begins.
void turnAxis(AxisMap& axis, const QWheelEvent& event, double left);

/// Pulling the axis with the pointer; a press that did not pull is a click.
class AxisDrag {
 public:
  void press(const QMouseEvent& event, const AxisMap& axis);
  /// True if the axis moved.
  bool move(const QMouseEvent& event, AxisMap& axis);
  /// True if it was a click.
  bool release(const QMouseEvent& event);
  bool pulling() const { return m_pulling; }

 private:
  QPoint m_from;
  double m_first = 0;
  bool m_held = false, m_pulling = false;
};

/// Where a key moves the focus to; `page`: items in sight, `all`: items there are.
struct CellStep {
  int lines = 0, items = 0;
};
std::optional<CellStep> cellStep(const QKeyEvent& event, int page, int all);
/// Plus and minus zoom by a factor; 0 stands for all.
std::optional<double> zoomStep(const QKeyEvent& event);

}  // namespace kvlab
