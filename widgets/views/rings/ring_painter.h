// SPDX-License-Identifier: GPL-3.0-or-later
// Paints one ring: slots in the outer band, the logical order in the inner band, slots written by the last commit on
// the rim, and labels around it. Used for the large ring and, without labels, for small rings. Lives for one paint
// event. GUI thread.
#pragma once
#include <QPainter>
#include <optional>
#include <vector>

#include "widgets/canvas/colour_map.h"
#include "widgets/views/rings/ring_picture.h"
#include "widgets/views/rings/ring_shape.h"

namespace kvlab {

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
