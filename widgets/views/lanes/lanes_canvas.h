// SPDX-License-Identifier: GPL-3.0-or-later
// The maps of the lanes above each other over one axis of tokens: a ruler, token texts, one band per lane
// with its caption, and a legend. Owned by LanesTableView. GUI thread. Device-independent pixels.
#pragma once
#include <QImage>
#include <QWidget>
#include <optional>

#include "widgets/base/inspector_context.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/axis_map.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/lanes/lane_cells.h"

namespace kvlab {

class LanesCanvas : public QWidget {
  Q_OBJECT
 public:
  LanesCanvas(InspectorContext& context, QWidget* parent);

  void show(LanesViewPtr view);
  /// One layer, or nothing for all of them, each a line of the band.
  void setLayer(std::optional<int> layer);
  void setLane(int lane);
  int lane() const { return m_lane; }
  const AxisMap& axis() const { return m_axis; }
  void fit();
  void zoomBy(double factor);
  void revealFocus();
  /// What is under the pointer, else what is focused, in every lane.
  QString readout() const;
  const std::vector<LaneCells>& cells() const { return m_cells; }
  /// Where the band of a lane is; for tests.
  QRect band(int lane) const;

 signals:
  /// token: place among the taken ones.
  void clicked(int lane, int layer, int token);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  static constexpr int kCaption = 18, kSwatch = 15;
  struct Parts {
    QRect ruler, tokens, lanes, legend;
    int bandHeight = 0, caption = 0, each = 1;  // a lane is `each` tall
  };
  Parts parts() const;
  int lanes() const { return m_view ? static_cast<int>(m_view->lanes.size()) : 0; }
  int tokens() const { return m_view ? static_cast<int>(m_view->lanes.front().taken.size()) : 0; }
  int shownLayers() const;
  int lineIn(int shown) const { return m_layer ? *m_layer * m_per + shown : shown; }
  void place();
  bool low() const;
  int gutter() const;
  int laneAt(int y) const;
  int layerAt(int lane, int y) const;
  QRectF lineOf(const QRect& band, int line) const;
  int tokenOf(Position position) const;
  int focusToken() const;
  void hoverAt(QPoint point);
  void moveFocus(int layers, int tokens);
  void compare();
  QString stateOf(int lane, int layer, int token) const;

  void paintCaption(QPainter& painter, int lane, const QRect& box, const Theme& theme) const;
  void paintName(QPainter& painter, int lane, const QRect& box, const Theme& theme) const;
  void paintBand(QPainter& painter, int lane, const QRect& box, const Theme& theme) const;
  void paintLine(QPainter& painter, const std::vector<LaneCell>& cells, const QRectF& line, const Theme& theme) const;
  void paintFine(QPainter& painter, const std::vector<LaneCell>& cells, const QRectF& line, const Theme& theme) const;
  void paintMarks(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintLayers(QPainter& painter, const QRect& band, const Theme& theme) const;
  void paintLegend(QPainter& painter, const QRect& area, const Theme& theme) const;
  QStringList legendTexts() const;
  std::vector<int> legendWidths() const;

  InspectorContext& m_context;
  LanesViewPtr m_view;
  std::vector<LaneCells> m_cells;
  std::optional<int> m_layer = 0;
  int m_lane = 0, m_hoverLane = -1, m_per = 1;  // lines per layer
  AxisMap m_axis;
  AxisDrag m_drag;
};

/// How a cell looks: patterns where it is large, one colour where it is not.
void paintLaneCell(QPainter& painter, const QRectF& box, LaneCell cell, const Theme& theme);
QColor laneColour(LaneCell cell, const Theme& theme);

}  // namespace kvlab
