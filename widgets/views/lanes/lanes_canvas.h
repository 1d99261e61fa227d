// SPDX-License-Identifier: GPL-3.0-or-later
// The maps of the lanes, one above the other, along one axis of tokens: ruler, token texts, one band per lane with its
// caption, and a legend. Owned by LanesTableView. GUI thread. Device-independent pixels.
#pragma once
#include <optional>

#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/lanes/lane_cells.h"

namespace kvlab {

class LanesCanvas : public AxisCanvas {
  Q_OBJECT
 public:
  LanesCanvas(InspectorContext& context, QWidget* parent);

  void show(LanesViewPtr view);
  /// Shows one layer, or all layers as lines of the bands.
  void setLayer(std::optional<int> layer);
  void setLane(int lane);
  int lane() const { return m_lane; }
  /// The token under the pointer, else the focused token, in every lane.
  QString readout() const override;
  const std::vector<LaneCells>& cells() const { return m_cells; }
  /// Area of a lane's band; for tests.
  QRect band(int lane) const;

 signals:
  /// token: index among the taken tokens.
  void clicked(int lane, kvlab::CacheLayer layer, int token);

 protected:
  void paintContent(QPainter& painter, const Theme& theme) override;
  CanvasCell cellAt(QPoint point) const override;
  CanvasCell focusCell() const override;
  void choose(CanvasCell cell) override;
  Position positionOf(CanvasCell cell) const override;
  CanvasCell stepped(const CellStep& by) const override;
  int items() const override { return tokens(); }
  QRect axisArea() const override;

 private:
  static constexpr int kCaption = 18;
  struct Parts {
    QRect ruler, tokens, lanes, legend;
    int bandHeight = 0, caption = 0, each = 1;  // each: height of a lane
  };
  Parts parts() const;
  int lanes() const { return m_view ? static_cast<int>(m_view->lanes.size()) : 0; }
  int tokens() const { return m_view ? static_cast<int>(m_view->lanes.front().taken.size()) : 0; }
  int layers() const { return m_cells.empty() ? 0 : static_cast<int>(m_cells.front().layers.size()) / m_per; }
  int shownLayers() const;
  int lineIn(int shown) const { return m_layer ? *m_layer * m_per + shown : shown; }
  bool low() const;
  int gutter() const;
  int laneAt(int y) const;
  int layerAt(int lane, int y) const;
  QRectF lineOf(const QRect& band, int line) const;
  int tokenOf(Position position) const;
  int focusToken() const;
  void compare();
  QString stateOf(int lane, int layer, int token) const;

  void paintCaption(QPainter& painter, int lane, const QRect& box, const Theme& theme) const;
  void paintName(QPainter& painter, int lane, const QRect& box, const Theme& theme) const;
  void paintBand(QPainter& painter, int lane, const QRect& box, const Theme& theme) const;
  void paintLine(QPainter& painter, const std::vector<LaneCell>& cells, const QRectF& line, const Theme& theme) const;
  void paintFine(QPainter& painter, const std::vector<LaneCell>& cells, const QRectF& line, const Theme& theme) const;
  void paintMarks(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintLayers(QPainter& painter, const QRect& band, const Theme& theme) const;
  std::vector<LegendEntry> legend(const Theme& theme) const;

  LanesViewPtr m_view;
  std::vector<LaneCells> m_cells;
  std::optional<int> m_layer = 0;
  int m_lane = 0, m_per = 1;  // lines per layer
};

/// Paints one cell: with a pattern if it is large, else in one colour.
void paintLaneCell(QPainter& painter, const QRectF& box, LaneCell cell, const Theme& theme);
QColor laneColour(LaneCell cell, const Theme& theme);

}  // namespace kvlab
