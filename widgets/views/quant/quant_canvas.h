// SPDX-License-Identifier: GPL-3.0-or-later
// K and V of a layer as two bands over one axis of positions: a bar per row with a labelled axis, and below it a strip
// of colours. If rows share a pixel, the largest value is shown. Owned by QuantView. GUI thread. Device-independent
// pixels.
#pragma once
#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/canvas/max_pyramid.h"
#include "widgets/views/quant/quant_model.h"

namespace kvlab {

class QuantCanvas : public AxisCanvas {
  Q_OBJECT
 public:
  QuantCanvas(InspectorContext& context, QWidget* parent);

  /// Null shows nothing.
  void show(QuantMeasurePtr measure, CacheLayer layer, QuantFigure figure);
  const std::array<QuantLane, 2>& lanes() const { return m_lanes; }
  /// Area of a band's bars; for tests.
  QRect bars(int lane) const { return parts().lanes[at(lane)].bars; }
  /// Focused row of the measured context and row under the pointer; -1 = none.
  int focusRow() const { return focusItem(); }
  int hoveredRow() const { return hoveredItem(); }
  /// The view's card shows the details instead.
  QString readout() const override { return {}; }

 protected:
  void paintContent(QPainter& painter, const Theme& theme) override;
  CanvasCell cellAt(QPoint point) const override;
  CanvasCell focusCell() const override { return {m_layer.value(), focusRow()}; }
  SnapshotPtr of() const override { return m_measure ? m_measure->of : nullptr; }
  int lines() const override { return m_measure ? static_cast<int>(m_measure->layers.size()) : 0; }
  int items() const override { return length(); }
  QRect axisArea() const override;

 private:
  struct LaneParts {
    QRect caption, bars, strip;
  };
  struct Parts {
    QRect ruler, tokens, legend;
    std::array<LaneParts, 2> lanes;
  };
  Parts parts() const;
  int length() const { return m_measure ? m_measure->of->length() : 0; }
  /// Width in pixels of the part of the axis that has rows.
  int drawnWidth() const { return static_cast<int>(std::ceil(std::min(axis().extent, axis().pixel(axis().count)))); }

  void paintLane(QPainter& painter, std::size_t lane, const LaneParts& parts, const Theme& theme) const;
  void paintCaption(QPainter& painter, const QuantLane& lane, const QRect& box, const Theme& theme) const;
  void paintAxis(QPainter& painter, const QuantSeries& series, const QRect& box, const Theme& theme) const;
  void paintBars(QPainter& painter, std::size_t lane, const QRect& box, const Theme& theme) const;
  void paintStrip(QPainter& painter, std::size_t lane, const QRect& box, const Theme& theme) const;
  void paintMarks(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintWrong(QPainter& painter, const Parts& parts, const Theme& theme) const;
  /// The legend: the ends of the strip, and the marks.
  std::vector<LegendEntry> legend(const Theme& theme) const;

  QuantMeasurePtr m_measure;
  CacheLayer m_layer;
  QuantFigure m_figure = QuantFigure::Relative;
  std::array<QuantLane, 2> m_lanes;
  MaxPyramid m_rows;  // bars of K and V, then their strips
};

}  // namespace kvlab
