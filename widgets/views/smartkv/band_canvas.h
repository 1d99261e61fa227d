// SPDX-License-Identifier: GPL-3.0-or-later
// Layers from top to bottom, tokens of the context to the right: rows coloured by their policy's score, gaps for
// evicted rows, and below each layer its bands. If tokens share a pixel, the highest score gives the colour and the
// resident share gives the height. Owned by the view Policy. GUI thread. Device-independent pixels.
#pragma once
#include "widgets/base/finding_marks.h"
#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/smartkv/band_rows.h"

class QScrollBar;

namespace kvlab {

class BandCanvas : public AxisCanvas {
  Q_OBJECT
 public:
  BandCanvas(InspectorContext& context, QWidget* parent);
  void show(SnapshotPtr snapshot, std::vector<BandRows> layers);
  const std::vector<BandRows>& layers() const { return m_layers; }
  QString readout() const override;
  /// Centre of a cell.
  QPointF middleOf(int layer, int position) const;
  /// Scrolls until the focused layer and position are visible.
  void reveal();

 signals:
  void clicked(kvlab::CacheLayer layer, kvlab::Position position, kvlab::InspectorContext::Choice choice);

 protected:
  void paintContent(QPainter& painter, const Theme& theme) override;
  CanvasCell cellAt(QPoint point) const override;
  CanvasCell focusCell() const override;
  void choose(CanvasCell cell) override { emit clicked(CacheLayer(cell.line), Position(cell.item), choice()); }
  int lines() const override { return static_cast<int>(m_layers.size()); }
  int items() const override { return m_snapshot ? m_snapshot->length() : 0; }
  QRect axisArea() const override { return area(); }
  void axisMoved() override { m_columns.assign(m_layers.size(), {}); }
  bool scrollLines(int pixels) override;
  QString tipOf(CanvasCell cell) const override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Column {
    float score = 0;  // NaN = unknown
    float there = 0;  // resident share, 0..1
    Band band = Band::Gone;
  };
  void arrange();
  int lineHeight() const;
  int wide() const;    // width without the scroll bar
  QRect area() const;  // area of all strips, without margins
  QRectF lineRect(int layer) const;
  int layerAt(double y) const;
  QRect legendRect() const;
  const std::vector<Column>& columnsOf(std::size_t layer);

  void paintLine(QPainter& painter, std::size_t layer, const Theme& theme);
  void paintBands(QPainter& painter, const BandRows& rows, const QRectF& line, const Theme& theme) const;
  void paintContests(QPainter& painter, const BandRows& rows, const QRectF& line, const Theme& theme) const;
  QRectF cellRect(int layer, int position) const;
  void paintFindings(QPainter& painter, const Theme& theme) const;
  void paintFocus(QPainter& painter, const Theme& theme) const;
  void paintAxis(QPainter& painter, const Theme& theme) const;

  SnapshotPtr m_snapshot;
  std::vector<BandRows> m_layers;
  FindingMarks m_findings;
  std::vector<std::vector<Column>> m_columns;  // [layers][pixels], empty until painted
  QScrollBar* m_bar;
};

std::vector<LegendEntry> bandLegend(const Theme& theme, bool findings);

}  // namespace kvlab
