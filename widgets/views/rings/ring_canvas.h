// SPDX-License-Identifier: GPL-3.0-or-later
// The painted part of the rings view: a large ring for the focused layer, small rings for all other groups of layers,
// the large ring's figures with the legend, and a readout of the slot under the pointer. Owned by RingsView. GUI
// thread. Device-independent pixels.
#pragma once
#include <vector>

#include "widgets/base/finding_marks.h"
#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/tile_cache.h"
#include "widgets/views/rings/ring_painter.h"
#include "widgets/views/rings/ring_picture.h"

namespace kvlab {

class RingCanvas : public AxisCanvas {
  Q_OBJECT
 public:
  /// One group of layers with its ring, or its other layout.
  struct Entry {
    StorageGroup group;
    std::optional<RingPicture> ring;
    std::vector<std::int32_t> wrong = {};  // rows of the ring that a check has found wrong
  };

  RingCanvas(InspectorContext& context, QWidget* parent);
  void setEntries(std::vector<Entry> entries, FindingMarks found);
  const std::vector<Entry>& entries() const { return m_entries; }
  /// Values that colour the rows in the inner band; none: the band shows their order.
  void setValues(std::optional<TileRows> values);
  /// The group of the focused layer; -1 if there is none.
  int selected() const;
  /// The ring of the focused layer; null if it has none.
  const RingPicture* ring() const;
  /// Circle of the large ring.
  RingShape shape() const;
  /// Text of the readout line.
  QString readout() const override;
  /// Centre of a small ring.
  QPointF smallRing(int entry) const;

 signals:
  void clicked(kvlab::CacheLayer layer, kvlab::Position position, kvlab::InspectorContext::Choice choice);
  void groupChosen(kvlab::CacheLayer layer);

 protected:
  void paintContent(QPainter& painter, const Theme& theme) override;
  /// The line is the group of layers, the item a slot of its ring.
  CanvasCell cellAt(QPoint point) const override;
  CanvasCell focusCell() const override;
  void choose(CanvasCell cell) override;
  Position positionOf(CanvasCell cell) const override;
  int lines() const override { return static_cast<int>(m_entries.size()); }
  int items() const override { return ring() ? ring()->rows() : 0; }
  CanvasCell stepped(const CellStep& by) const override;
  QString tipOf(CanvasCell cell) const override;

 private:
  struct Parts {
    QRect rings, large, figures, readout;
    int across = 1, columns = 1;  // small rings and figures per line
    int first = 0, count = 0;     // small rings that fit
    int figureCount = 1000;       // figures that fit
    int figureTall = 0;           // pixels of one
    bool named = false;           // small rings show only their names
  };
  Parts parts() const;
  RingShape shapeIn(const QRect& area) const;
  QRect smallBox(const Parts& parts, int entry) const;
  int smallAt(QPoint point) const;
  int rowIn(int slot) const { return slot < 0 ? -1 : ring()->rowAt[at(slot)]; }

  void paintSmall(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintLarge(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintAbsent(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintFigures(QPainter& painter, const Parts& parts, const Theme& theme) const;

  /// The layer of a group whose values are shown: the focused one if it is of the group.
  CacheLayer layerOf(const StorageGroup& group) const;
  /// Colours of the rows of a ring by their values.
  std::optional<RingColours> coloursOf(const RingPicture& ring, const Theme& theme) const;

  /// Findings of checks on a row of the large ring, a line each.
  QString foundOf(int row) const;

  std::vector<Entry> m_entries;
  std::optional<TileRows> m_values;
};

}  // namespace kvlab
