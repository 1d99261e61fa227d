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
    for (int i = 0; i < columns; ++i) {
      double& floor = below[static_cast<std::size_t>(i)];
      const double top = above[static_cast<std::size_t>(i)];
      if (std::isnan(top)) continue;
      if (const double high = snapped(floor) - snapped(top); high > 0)
        painter->fillRect(QRectF(left + i * step, snapped(top), step, high), band.colour);
      floor = top;
    }
  }
}

}  // namespace kvlab
