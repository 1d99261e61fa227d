// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/quant/quant_canvas.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/figure_cells.h"
#include "widgets/figure/figure.h"

namespace kvlab {
namespace {
constexpr int kGutter = 58, kRight = 10, kRuler = 22, kCaption = 19, kStrip = 9, kGap = 6;
constexpr int kTallTokens = 64, kLowBars = 24;
constexpr int kLowLane = 90, kLowCaption = 15, kLowStrip = 5, kLowGap = 2;  // in a low view the bars have the room
constexpr int kLabelTall = 13;

QColor barColour(bool keys, const Theme& theme) { return seriesColour(keys ? 0 : 2, theme.dark); }
MapKind stripMap(QuantFigure figure) { return figure == QuantFigure::Scale ? MapKind::Viridis : MapKind::Inferno; }
QString letter(bool keys) { return keys ? QStringLiteral("K") : QStringLiteral("V"); }

/// The shortest text of an axis number: "0.02", "5e-05".
QString label(double value) {
  return value != 0 && value < 9.9e-4 ? QString::number(value, 'e', 0) : QString::number(value, 'g', 3);
}

/// The reason why a band shows no bars.
QString noBars(const QuantTensor& tensor, const QuantSeries& series, bool resident) {
  if (series.values.empty())
    return QuantCanvas::tr("%1 holds values as they are: no scale and no codes").arg(tensor.type);
  if (!resident) return QuantCanvas::tr("no row of this layer is resident");
  return std::isnan(series.mean) ? QuantCanvas::tr("no error is known of the rows of this layer")
                                 : QuantCanvas::tr("every row is what was computed for it");
}
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
  const bool low = each < kLowLane;
  const int caption = low ? kLowCaption : kCaption, strip = low ? kLowStrip : kStrip, gap = low ? kLowGap : kGap;
  for (LaneParts& lane : p.lanes) {
    lane.caption = QRect(0, top, width() - kRight, caption);
    lane.bars = QRect(kGutter, top + caption, wide, std::max(1, each - caption - strip - gap));
    lane.strip = QRect(kGutter, lane.bars.bottom() + 2, wide, strip);
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

void QuantCanvas::paintContent(QPainter& painter, const Theme& theme) {
  if (!m_measure) return;
  const Parts p = parts();
  paintRuler(painter, p.ruler, width(), axis(), theme);
  painter.setFont(theme.small);
  painter.drawText(QRect(0, 0, p.ruler.left() - 7, p.ruler.height()), Qt::AlignRight | Qt::AlignVCenter,
                   tr("position"));
  painter.save();
  painter.setClipRect(p.tokens);
  const Snapshot& of = *m_measure->of;
  paintTokenTexts(
      painter, p.tokens, axis(), focusRow(), [&of](int row) { return shortTokenText(of, of.context[at(row)]); }, theme);
  painter.restore();
  for (std::size_t lane = 0; lane < m_lanes.size(); ++lane) paintLane(painter, lane, p.lanes[lane], theme);
  paintMarks(painter, p, theme);
  paintWrong(painter, p, theme);
  if (p.legend.height() > 0) paintLegend(painter, p.legend, legend(theme), theme);
}

void QuantCanvas::paintLane(QPainter& painter, std::size_t lane, const LaneParts& p, const Theme& theme) const {
  const QuantSeries& bars = m_lanes[lane].bars;
  paintCaption(painter, m_lanes[lane], p.caption, theme);
  if (bars.any()) {
    paintAxis(painter, bars, p.bars, theme);
  } else {
    painter.fillRect(p.bars, theme.sunken);
  }
  painter.save();
  painter.setClipRect(QRectF(p.bars.left(), p.bars.top() - 1, p.bars.width(), p.strip.bottom() - p.bars.top() + 2));
  if (!bars.values.empty()) paintBars(painter, lane, p.bars, theme);
  paintStrip(painter, lane, p.strip, theme);
  painter.restore();
  if (bars.any()) return;
  painter.setFont(theme.small);
  painter.setPen(theme.muted);
  const auto& map = m_measure->of->layers[at(m_layer)];
  const QString why = noBars(m_measure->layers[at(m_layer)].of(m_lanes[lane].keys), bars, map && map->resident() > 0);
  painter.drawText(p.bars, Qt::AlignCenter, painter.fontMetrics().elidedText(why, Qt::ElideRight, p.bars.width() - 8));
}

/// Paints tensor, type and figure at the left; the mean and the worst row at the right.
void QuantCanvas::paintCaption(QPainter& painter, const QuantLane& lane, const QRect& box, const Theme& theme) const {
  const QuantSeries& bars = lane.bars;
  painter.setFont(theme.smallStrong);
  painter.setPen(barColour(lane.keys, theme));
  const QRect inner = box.adjusted(Theme::kMedium, -1, 0, box.height() < kCaption ? 0 : -4);  // arrow tips lie below it
  const QString head = letter(lane.keys) + QStringLiteral("  ") + m_measure->layers[at(m_layer)].of(lane.keys).type;
  painter.drawText(inner, Qt::AlignLeft | Qt::AlignVCenter, head);
  const QRect rest = inner.adjusted(painter.fontMetrics().horizontalAdvance(head) + Theme::kLarge, 0, 0, 0);
  painter.setFont(theme.small);
  const QFontMetrics small = painter.fontMetrics();
  const QString what = bars.scale.curve == ColourScale::Curve::Log && bars.any() && box.width() > 420
      ? tr("%1, log scale").arg(title(bars.figure))
      : title(bars.figure);
  painter.setPen(theme.muted);
  painter.drawText(rest, Qt::AlignLeft | Qt::AlignVCenter, small.elidedText(what, Qt::ElideRight, rest.width()));
  if (!bars.any()) return;
  const double worst = double(bars.values[at(bars.worst)]);
  const bool counts = bars.figure == QuantFigure::AtMax;
  const QString figures = tr("mean %1   largest %2 at %3 %4")
                              .arg(counts ? formatNumber(bars.mean) : figureText(bars.mean),
                                   counts ? QString::number(worst) : figureText(worst))
                              .arg(bars.worst)
                              .arg(shortTokenText(*m_measure->of, m_measure->of->context[at(bars.worst)]));
  const int room = rest.width() - small.horizontalAdvance(what) - Theme::kLarge;
  painter.setPen(theme.text);
  if (room > 40)
    painter.drawText(rest, Qt::AlignRight | Qt::AlignVCenter, small.elidedText(figures, Qt::ElideRight, room));
}

void QuantCanvas::paintAxis(QPainter& painter, const QuantSeries& series, const QRect& box, const Theme& theme) const {
  painter.setFont(theme.monoSmall);
  for (const double value : axisLabels(series.scale, box.height() / (kLabelTall + 7) + 1)) {
    const double y =
        std::round(box.bottom() - double(series.scale.unit(static_cast<float>(value))) * (box.height() - 1));
    painter.fillRect(QRectF(box.left(), y, box.width(), 1), theme.grid);
    painter.setPen(theme.faint);
    const double top = std::clamp(y - kLabelTall / 2.0, box.top() - 2.0, box.bottom() - kLabelTall + 3.0);
    painter.drawText(QRectF(0, top, box.left() - 7, kLabelTall), Qt::AlignRight | Qt::AlignVCenter, label(value));
  }
}

/// Paints a bar per row, or per pixel the largest of its rows; absent rows are hatched.
void QuantCanvas::paintBars(QPainter& painter, std::size_t lane, const QRect& box, const Theme& theme) const {
  const QColor colour = barColour(m_lanes[lane].keys, theme);
  const QBrush missing = missingBrush(theme);
  const auto bar = [&](double left, double wide, std::uint8_t index) {
    if (index == MaxPyramid::kNone) return painter.fillRect(QRectF(left, box.top(), wide, box.height()), missing);
    const double tall = std::max(index > kFirstColour ? 1.0 : 0.0, std::round((index - 1) / 254.0 * box.height()));
    painter.fillRect(QRectF(left, box.bottom() + 1 - tall, wide, tall), colour);
  };
  if (axis().scale >= 3) {
    const auto [begin, end] = axis().inSight();
    const double gap = axis().scale >= 5 ? 1 : 0;
    for (int row = begin; row < end; ++row) {
      const double left = box.left() + std::round(axis().pixel(row)),
                   right = box.left() + std::round(axis().pixel(row + 1));
      const std::uint8_t index = m_rows.at(static_cast<int>(lane), row);
      bar(left, right - left - (index == MaxPyramid::kNone ? 0 : gap), index);
    }
  } else {
    std::vector<std::uint8_t> line(at(drawnWidth()));
    m_rows.line(static_cast<int>(lane), axis().first, axis().scale, line);
    for (std::size_t x = 0; x < line.size(); ++x) bar(box.left() + static_cast<double>(x), 1, line[x]);
  }
  const QuantSeries& series = m_lanes[lane].bars;
  if (!series.any()) return;
  painter.setPen(QPen(theme.text, 1, Qt::DashLine));
  const double y =
      std::round(box.bottom() - double(series.scale.unit(static_cast<float>(series.mean))) * (box.height() - 1)) + 0.5;
  painter.drawLine(QPointF(box.left(), y), QPointF(box.left() + drawnWidth(), y));
}

void QuantCanvas::paintStrip(QPainter& painter, std::size_t lane, const QRect& box, const Theme& theme) const {
  const QuantSeries& strip = m_lanes[lane].strip;
  if (strip.values.empty()) {
    painter.setPen(theme.border);
    return painter.drawLine(QPointF(box.left(), box.center().y() + 0.5), QPointF(box.right(), box.center().y() + 0.5));
  }
  const int wide = drawnWidth();
  if (wide <= 0) return;
  const ColourTable colours = colourTable(stripMap(strip.figure), theme);
  const std::array<int, 5> lines = lane == 0 ? std::array{0, 0, 0, box.height(), box.height()}
                                             : std::array{0, 0, 0, 0, box.height()};  // only this band is high
  if (paintsFigure(painter)) {
    CellPlaces places{QRectF(box.left(), box.top(), wide, box.height()), axis().first, axis().scale};
    for (const int line : lines) places.tops.push_back(box.top() + line);
    if (cellsInSight(m_rows, places) <= kMostCellShapes)
      return paintCellShapes(painter, m_rows, places, colours, theme);
  }
  QImage image(wide, box.height(), QImage::Format_RGB32);
  m_rows.blit(image, axis().first, axis().scale, lines, {colours, theme.surface.rgb()});
  painter.drawImage(box.topLeft(), image);
}

/// Marks the worst rows, the focused row and the row under the pointer in both bands.
void QuantCanvas::paintMarks(QPainter& painter, const Parts& p, const Theme& theme) const {
  const double wide = std::max(2.0, std::round(axis().scale));
  const auto left = [&](int row) { return p.ruler.left() + std::round(axis().pixel(row)); };
  const auto seen = [&](int row) { return row >= 0 && axis().pixel(row + 1) > 0 && axis().pixel(row) < axis().extent; };
  for (std::size_t lane = 0; lane < m_lanes.size(); ++lane) {
    const LaneParts& parts = p.lanes[lane];
    if (const int worst = m_lanes[lane].bars.worst; seen(worst))
      paintArrow(painter, QPointF(left(worst) + wide / 2, parts.bars.top() + 1), -6, theme.warning);
    const auto frame = [&](int row, const QColor& colour, int thick) {
      const double out = axis().scale < 12 ? thick : 0;  // keeps a thin bar visible within its frame
      if (seen(row))
        paintOutline(painter,
                     QRectF(left(row) - 0.5 - out, parts.bars.top() + 0.5, wide + 2 * out,
                            parts.strip.bottom() - parts.bars.top() + 1),
                     colour, thick, theme);
    };
    if (hoveredRow() != focusRow()) frame(hoveredRow(), theme.hover, 1);
    frame(focusRow(), theme.focus, 2);
  }
}

/// A finding of a row marks its bars.
void QuantCanvas::paintWrong(QPainter& painter, const Parts& p, const Theme& theme) const {
  for (const FindingMark& one : findings().all()) {
    const int row = one.placeIn(*m_measure->of, m_layer);
    if (row < 0 || axis().pixel(row + 1) <= 0 || axis().pixel(row) >= axis().extent) continue;
    const double left = p.ruler.left() + std::round(axis().pixel(row)), wide = std::max(2.0, std::round(axis().scale));
    for (const LaneParts& lane : p.lanes)
      paintFinding(painter, QRectF(left, lane.bars.top() + 2, wide, lane.strip.bottom() - lane.bars.top() - 2), theme);
  }
}

std::vector<LegendEntry> QuantCanvas::legend(const Theme& theme) const {
  constexpr int kRoom = 18, kBar = 54;
  std::vector<LegendEntry> out{
      {tr("largest"), kRoom,
       [&theme](QPainter& painter, const QRect& box) {
         paintArrow(painter, QPointF(box.left() + 6, QRectF(box).center().y() + 3), -6, theme.warning);
       }},
      {tr("mean"), kRoom,
       [&theme](QPainter& painter, const QRect& box) {
         const double middle = QRectF(box).center().y();
         painter.setPen(QPen(theme.text, 1, Qt::DashLine));
         painter.drawLine(QPointF(box.left(), middle), QPointF(box.left() + 13, middle));
       }},
      {tr("no row"), kRoom, [&theme](QPainter& painter, const QRect& box) {
         painter.fillRect(QRectF(box.left(), QRectF(box).center().y() - 5, 12, 10), missingBrush(theme));
       }}};
  for (const QuantLane& lane : m_lanes)
    if (lane.strip.any())
      out.push_back({tr("%1 of %2: %3 to %4")
                         .arg(title(lane.strip.figure), letter(lane.keys), label(double(lane.strip.scale.low)),
                              label(double(lane.strip.scale.high))),
                     kBar + Theme::kMedium, [this, &theme](QPainter& painter, const QRect& box) {
                       paintColours(painter, QRectF(box.left(), QRectF(box).center().y() - 5, kBar, 10),
                                    colourTable(stripMap(m_lanes[0].strip.figure), theme));
                     }});
  if (!findings().empty()) out.push_back(findingLegend(theme));
  return out;
}

}  // namespace kvlab
