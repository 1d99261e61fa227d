// SPDX-License-Identifier: GPL-3.0-or-later
// The circle of a ring: slot 0 starts at the top, and slots follow clockwise. Angles are in turns, distances in
// device-independent pixels. A plain value; any thread.
#pragma once
#include <QPainterPath>
#include <QPointF>
#include <QRectF>
#include <cmath>
#include <numbers>

namespace kvlab {

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

}  // namespace kvlab
