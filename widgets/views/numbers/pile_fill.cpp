// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/numbers/pile_fill.h"

#include <algorithm>

namespace kvlab {
namespace {
/// Height in pixels of a curve in each of `columns` columns from the pixel `left`, each `step` wide; NaN where it has
/// none. If several ticks share a column, the highest counts.
std::vector<double> curveHeights(const QCPGraph& curve, double left, double step, int columns) {
  std::vector<double> heights(static_cast<std::size_t>(columns), NAN);
  QPointF before(NAN, NAN);
  for (const QCPGraphData& point : *curve.data()) {
    const QPointF here = curve.coordsToPixels(point.key, point.value);
    const bool line = !std::isnan(before.y()) && !std::isnan(here.y()) && here.x() > before.x();
    const double from = std::ceil((before.x() - left) / step), to = std::floor((here.x() - left) / step);
    if (line)
      for (int i = std::max(0, static_cast<int>(from)); i <= std::min(columns - 1, static_cast<int>(to)); ++i) {
        const double part = (left + i * step - before.x()) / (here.x() - before.x());
        heights[static_cast<std::size_t>(i)] = before.y() + part * (here.y() - before.y());
      }
    before = here;
  }
  for (const QCPGraphData& point : *curve.data()) {
    const QPointF here = curve.coordsToPixels(point.key, point.value);
    const double column = std::floor((here.x() - left) / step);
    if (std::isnan(here.y()) || column < 0 || column >= columns) continue;
    double& height = heights[static_cast<std::size_t>(column)];
    height = std::isnan(height) ? here.y() : std::min(height, here.y());
  }
  return heights;
}
/// The band as one shape for each run of columns that it has.
QPainterPath bandShape(const std::vector<double>& above, const std::vector<double>& below, double left, double step) {
  QPainterPath shape;
  for (std::size_t i = 0, end; i < above.size(); i = end + 1) {
    for (end = i; end < above.size() && !std::isnan(above[end]);) ++end;
    if (end - i < 2) continue;
    const auto x = [&](std::size_t column) { return left + static_cast<double>(column) * step; };
    shape.moveTo(x(i), below[i]);
    for (std::size_t k = i; k < end; ++k) shape.lineTo(x(k), above[k]);
    for (std::size_t k = end; k-- > i;) shape.lineTo(x(k), below[k]);
    shape.closeSubpath();
  }
  return shape;
}

}  // namespace

void PileFill::draw(QCPPainter* painter) {
  const QRect area = m_rect->rect();
  const double step = 1 / painter->device()->devicePixelRatioF(), left = area.left();
  const int columns = static_cast<int>(area.width() / step);
  const auto snapped = [&](double y) {
    return std::round(std::clamp<double>(y, area.top(), area.bottom() + 1) / step) * step;
  };
  std::vector<double> below(static_cast<std::size_t>(columns), m_rect->axis(QCPAxis::atLeft)->coordToPixel(0));
  painter->setPen(Qt::NoPen);
  for (const Band& band : m_bands) {
    const std::vector<double> above = curveHeights(*band.above, left, step, columns);
    if (paintsFigure(*painter)) painter->fillPath(bandShape(above, below, left, step), band.colour);
    for (int i = 0; i < columns; ++i) {
      double& floor = below[static_cast<std::size_t>(i)];
      const double top = above[static_cast<std::size_t>(i)];
      if (std::isnan(top)) continue;
      const double high = snapped(floor) - snapped(top);
      if (high > 0 && !paintsFigure(*painter))
        painter->fillRect(QRectF(left + i * step, snapped(top), step, high), band.colour);
      floor = top;
    }
  }
}

}  // namespace kvlab
