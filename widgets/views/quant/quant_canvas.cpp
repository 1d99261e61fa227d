// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in quant_paint.cpp.
#include "widgets/views/quant/quant_canvas.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {
constexpr int kGutter = 58, kRight = 10, kRuler = 22, kCaption = 19, kStrip = 9, kGap = 6;
constexpr int kTallTokens = 64, kLowBars = 24;
}  // namespace

QuantCanvas::QuantCanvas(InspectorContext& context, QWidget* parent) : AxisCanvas(context, parent) {
  setMinimumSize(160, kRuler + 2 * (kCaption + kLowBars + kStrip + kGap));
  setAccessibleName(tr("Rows of the layer"));
  setToolTip(
      tr("Click focuses a row; arrow keys move by rows and layers; the wheel, + and - zoom, dragging pans, 0 or a "
         "double click shows all"));
}

void QuantCanvas::show(QuantMeasurePtr measure, CacheLayer layer, QuantFigure figure) {
  if (m_measure == measure && m_layer == layer && m_figure == figure) return;
  m_measure = std::move(measure);
  m_layer = layer, m_figure = figure;
  if (m_measure) {
    m_lanes = quantLanes(m_measure->layers[at(layer)], figure);
    std::vector<std::uint8_t> indices(4 * at(length()));
    const auto fill = [&](std::size_t line, const QuantSeries& series) {
      if (!series.values.empty())
        series.scale.quantise(series.values, std::span(indices).subspan(line * at(length()), at(length())));
    };
    for (std::size_t lane = 0; lane < m_lanes.size(); ++lane) {
      fill(lane, m_lanes[lane].bars);
      fill(2 + lane, m_lanes[lane].strip);
    }
    m_rows.assign(4, length(), std::move(indices));
  }
  place();
}

QuantCanvas::Parts QuantCanvas::parts() const {
  Parts p;
  const int wide = std::max(1, width() - kGutter - kRight), fixed = 2 * (kCaption + kStrip + kGap);
  int foot = legendHeight(legend(*Theme::current()), width() - 2 * Theme::kMedium) + Theme::kTight;
  if (height() - kRuler - foot - fixed < 2 * kLowBars) foot = 0;
  const bool tokens = axis().scale >= kTokenScale && height() - kRuler - foot - kTallTokens - fixed >= 4 * kLowBars;
  p.ruler = QRect(kGutter, 0, wide, kRuler);
  p.tokens = QRect(kGutter, kRuler, wide, tokens ? kTallTokens : 0);
  p.legend = QRect(Theme::kMedium, height() - foot, width() - 2 * Theme::kMedium, foot);
  int top = p.tokens.bottom() + 1;
  const int each = (p.legend.top() - top) / 2;
  for (LaneParts& lane : p.lanes) {
    lane.caption = QRect(0, top, width() - kRight, kCaption);
    lane.bars = QRect(kGutter, top + kCaption, wide, std::max(1, each - kCaption - kStrip - kGap));
    lane.strip = QRect(kGutter, lane.bars.bottom() + 2, wide, kStrip);
    top += each;
  }
  return p;
}

QRect QuantCanvas::axisArea() const {
  const QRect ruler = parts().ruler;
  return QRect(ruler.left(), ruler.bottom() + 1, ruler.width(), m_measure ? height() - ruler.height() : 0);
}

CanvasCell QuantCanvas::cellAt(QPoint point) const {
  const int row = point.x() < kGutter ? -1 : axis().at(point.x() - kGutter);
  return {row < 0 || point.y() < kRuler ? -1 : m_layer.value(), row};
}

}  // namespace kvlab
