// SPDX-License-Identifier: GPL-3.0-or-later
// Paints one ring: slots in the outer band, the logical order in the inner band, slots written by the last commit on
// the rim, and labels around it. Used for the large ring and, without labels, for small rings. Lives for one paint
// event. GUI thread.
#pragma once
#include <QPainter>
#include <QPainterPath>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "widgets/canvas/colour_map.h"
#include "widgets/views/rings/ring_picture.h"

namespace kvlab {

/// The circle of a ring: slot 0 starts at the top, and slots follow clockwise. Angles are in turns, distances in
/// device-independent pixels. A plain value.
struct RingShape {
  QPointF centre;
  double radius = 0;  // outer edge of the slots
  int count = 1;      // slots

  // Edges as shares of the radius: the outer band has slots, the inner band the logical order.
  static constexpr double kSlotEdge = 0.83, kOrderOuter = 0.80, kOrderInner = 0.70;

  double turn(double slot) const { return slot / count; }
  QPointF at(double turns, double distance) const {
    const double angle = turns * 2 * std::numbers::pi;
    return centre + QPointF(std::sin(angle), -std::cos(angle)) * distance;
  }
  /// The slot under a point, -1 outside both bands.
  int slotAt(QPointF point) const {
    const QPointF from = point - centre;
    const double distance = std::hypot(from.x(), from.y());
    if (radius <= 0 || distance < radius * kOrderInner || distance > radius + 6) return -1;
    double turns = std::atan2(from.x(), -from.y()) / (2 * std::numbers::pi);
    if (turns < 0) turns += 1;
    return std::min(count - 1, static_cast<int>(turns * count));
  }
  /// Length of one slot's outer edge.
  double slotLength() const { return 2 * std::numbers::pi * radius / count; }
  bool cells() const { return slotLength() >= 5; }

  /// The part of a band from `begin` to `end` turns, reduced by half of `gap` pixels on both sides and at least 1.5
  /// pixels long.
  QPainterPath sector(double inner, double outer, double begin, double end, double gap = 0) const {
    const double pixel = 1 / (2 * std::numbers::pi * std::max(1.0, outer));
    begin += gap / 2 * pixel, end -= gap / 2 * pixel;
    if (end - begin < 1.5 * pixel) {
      const double middle = (begin + end) / 2;
      begin = middle - 0.75 * pixel, end = middle + 0.75 * pixel;
    }
    const QRectF wide(centre.x() - outer, centre.y() - outer, 2 * outer, 2 * outer);
    const QRectF narrow(centre.x() - inner, centre.y() - inner, 2 * inner, 2 * inner);
    const double start = 90 - begin * 360, sweep = -(end - begin) * 360;
    QPainterPath path;
    path.arcMoveTo(wide, start);
    path.arcTo(wide, start, sweep);
    path.arcTo(narrow, start + sweep, -sweep);
    path.closeSubpath();
    return path;
  }
};

/// Colours of the rows in the inner band.
struct RingColours {
  ColourTable table;
  std::vector<std::uint8_t> rows;  // [rows] places in the table, 0 = no value
};

class RingPainter {
 public:
  /// colours: none = by the logical order.
  RingPainter(QPainter& painter, const RingPicture& ring, const RingShape& shape, const QRectF& room,
              const Theme& theme, std::optional<RingColours> colours);
  void bands();
  /// Outlines both bands of a row's slot and writes its token next to it.
  void row(int row, const QColor& colour, int width);
  /// Outlines the slot of a row that a check has found wrong, with a cross on the rim, without its token.
  void wrongRow(int row);
  void labels();
  void centre();
  /// Paints a swatch of the legend.
  static void swatch(QPainter& painter, const QRectF& box, RingMark mark, const Theme& theme);

 private:
  /// False if the row has no slot of the ring.
  bool outline(int row, const QColor& colour, int width);
  void slotBand();
  void orderBand();
  void rim();
  void slotCell(int begin, int end, SlotUse use);
  void slants(double begin, double end, const QColor& colour, bool both = false);
  /// The strongest colour among the rows of an arc.
  QColor rowColour(int begin, int end) const;
  void ruler();
  void marker(int slot, bool filled);
  QRectF labelBox(const QString& text, double turns, double distance) const;
  void boundary(const QString& word, int slot, int direction, const QColor& colour);
  /// Writes a text outside (or inside) the circle at `turns`, moved a little in `direction` if another label is in its
  /// way; false if there is no room.
  bool label(const QString& text, double turns, double distance, int direction, const QColor& colour);
  double inner(double share) const { return m_shape.radius * share; }

  QPainter& m_painter;
  const RingPicture& m_ring;
  const RingShape& m_shape;
  const QRectF m_room;
  const Theme& m_theme;
  const std::optional<RingColours> m_colours;
  const ColourTable m_ages;
  std::vector<QRectF> m_taken;  // areas of labels
};

}  // namespace kvlab
