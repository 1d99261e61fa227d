// SPDX-License-Identifier: GPL-3.0-or-later
// The maps of the lanes, one above the other, along one axis of tokens: ruler, token texts, one band per lane with its
// caption, and a legend. A band shows rows, or the lane's surprise at each token. Owned by LanesTableView. GUI thread.
// Device-independent pixels.
#pragma once
#include <algorithm>
#include <optional>

#include "widgets/base/finding_marks.h"
#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/lanes/lane_compare.h"

class QFontMetrics;

namespace kvlab {

class LanesCanvas : public AxisCanvas {
  Q_OBJECT
 public:
  LanesCanvas(InspectorContext& context, QWidget* parent);

  void show(LanesViewPtr view);
  /// Shows one layer, or all layers as lines of the bands.
  void setLayer(std::optional<int> layer);
  /// Shows the loss of each token instead of its rows. Needs one layer.
  void setLosses(bool losses);
  void setLane(int lane);
  /// The colour scales of the losses have changed.
  void rescale();
  /// The largest difference that the colours reach.
  float end() const { return m_apart.first().high; }
  int lane() const { return m_lane; }
  /// The token under the pointer, else the focused token, in every lane.
  QString readout() const override;
  const std::vector<LaneCells>& cells() const { return m_cells; }
  const std::vector<LaneLosses>& losses() const { return m_losses; }
  /// Tells the user how to get losses.
  static QString noLossesHow();
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
  QString tipOf(CanvasCell cell) const override;
  int items() const override { return tokens(); }
  QRect axisArea() const override { return m_view ? parts().lanes : QRect(); }

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

  QString rowsText(int lane) const;
  void paintCaption(QPainter& painter, int lane, const QRect& box, const Theme& theme) const;
  void paintName(QPainter& painter, int lane, const QRect& box, const Theme& theme) const;
  void paintBand(QPainter& painter, int lane, const QRect& box, const Theme& theme) const;
  void paintLine(QPainter& painter, const std::vector<LaneCell>& cells, const QRectF& line, const Theme& theme) const;
  /// Where tokens share pixels: fills pixel column by pixel column, runs of one colour at once. indexOf: the index of
  /// the colour of tokens [begin, end); -1 = none.
  void paintFine(QPainter& painter, const QRectF& box, std::size_t tokens, std::span<const QRgb> colours,
                 const std::function<int(std::size_t begin, std::size_t end)>& indexOf) const;
  /// Place of a token's cell; empty out of sight.
  QRectF cellOf(const QRectF& box, int token) const;
  /// Findings of checks on a token's row in a lane, a line each.
  QString foundOf(int lane, int token) const;
  bool anyFinding() const {
    return std::ranges::any_of(m_findings, [](const FindingMarks& one) { return !one.empty(); });
  }
  void paintFindings(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintMarks(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintLayers(QPainter& painter, const QRect& band, const Theme& theme) const;
  std::vector<LegendEntry> legend(const Theme& theme) const;

  // By losses.
  bool noLosses() const { return !m_losses.empty() && !m_losses.front().any(); }
  ColourScale scaleOf(std::span<const LaneLosses> lanes) const;
  /// Place of a difference in its range, -1..1. NaN stays NaN.
  float bentPlace(int lane, float value) const;
  int lossIndex(int lane, float value) const;
  void paintLosses(QPainter& painter, int lane, const QRect& box, const Theme& theme) const;
  void paintSign(QPainter& painter, int lane, const QRectF& cell, float value, QRgb ground, const Theme& theme) const;
  void paintNoLosses(QPainter& painter, const QRect& room, const Theme& theme) const;
  QString lossText(int lane, const QFontMetrics& metrics, int room) const;
  QString lossReadout(int token) const;
  std::vector<LegendEntry> lossLegend(const Theme& theme) const;

  LanesViewPtr m_view;
  std::vector<FindingMarks> m_findings;  // [lanes]
  std::vector<LaneCells> m_cells;
  std::vector<LaneLosses> m_losses;  // [lanes]; empty = rows are shown
  ColourScales m_surprise, m_apart;  // scales of lane 0's losses and of difference sizes: one, or one per lane
  bool m_byLoss = false;
  std::optional<int> m_layer = 0;
  int m_lane = 0, m_per = 1;  // lines per layer
};

/// Paints one cell: with a pattern if it is large, else in one colour.
void paintLaneCell(QPainter& painter, const QRectF& box, LaneCell cell, const Theme& theme);
QColor laneColour(LaneCell cell, const Theme& theme);
/// Colours of differences, from the least to the largest surprise; 128 is no difference.
ColourTable differenceColours(const Theme& theme);
/// "+0.31", "−2", "0".
QString differenceText(double value);

}  // namespace kvlab
