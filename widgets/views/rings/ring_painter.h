// SPDX-License-Identifier: GPL-3.0-or-later
// Draws one ring: slots in the outer band, logical order in the inner one, what the last commit wrote on
// the rim; and the labels around it. Used for the large ring and, without labels, for the small ones.
// Lives for one paint event. GUI thread.
#pragma once
#include <QPainter>
#include <vector>

#include "widgets/canvas/colour_map.h"
#include "widgets/views/rings/ring_picture.h"
#include "widgets/views/rings/ring_shape.h"

namespace kvlab {

class RingPainter {
 public:
  RingPainter(QPainter& painter, const RingPicture& ring, const RingShape& shape, const QRectF& room,
              const Theme& theme);
  void bands();
  /// Both bands of a row's slot outlined, and its token beside it.
  void row(int row, const QColor& colour, int width);
  void labels();
  void centre();
  /// A swatch of the legend.
  static void swatch(QPainter& painter, const QRectF& box, RingMark mark, const Theme& theme);

 private:
  void slotBand();
  void orderBand();
  void rim();
  void slotCell(int begin, int end, SlotUse use);
  void slants(double begin, double end, const QColor& colour, bool both = false);
  QColor ageColour(int row) const;
  void ruler();
  void marker(int slot, bool filled);
  /// Puts a text outside (or inside) of the circle at `turns`, or a little further in a direction where
  /// another label is in its way; false if it has no room there.
  bool label(const QString& text, double turns, double distance, int direction, const QColor& colour);
  double inner(double share) const { return m_shape.radius * share; }

  QPainter& m_painter;
  const RingPicture& m_ring;
  const RingShape& m_shape;
  const QRectF m_room;
  const Theme& m_theme;
  const ColourTable m_ages;
  std::vector<QRectF> m_taken;  // by labels
};

}  // namespace kvlab
