// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/figure_cells.h"

#include <QPainterPath>

namespace kvlab {
namespace {

constexpr double kFinest = 4, kMostPixels = 16e6;
constexpr double kLeastWide = 1;  // cells of a larger index are painted later: a single bad row stays visible

/// The items that can be seen.
std::pair<int, int> itemsInSight(const MaxPyramid& values, const CellPlaces& p) {
  const int begin = std::max(0, static_cast<int>(std::floor(p.first + 1e-9)));
  const double end = std::ceil(p.first + p.area.width() / p.scale - 1e-9);
  return {begin, static_cast<int>(std::min<double>(values.positions(), end))};
}

int linesOf(const MaxPyramid& values, const CellPlaces& p) {
  return std::min(values.layers(), static_cast<int>(p.tops.size()) - 1);
}

}  // namespace

double figureScale(const QSizeF& area) {
  return std::clamp(std::sqrt(kMostPixels / std::max(1.0, area.width() * area.height())), 1.0, kFinest);
}

std::int64_t cellsInSight(const MaxPyramid& values, const CellPlaces& p) {
  const auto [begin, end] = itemsInSight(values, p);
  return std::int64_t{std::max(0, end - begin)} * std::max(0, linesOf(values, p));
}

void paintCellShapes(QPainter& painter, const MaxPyramid& values, const CellPlaces& p, const ColourTable& colours,
                     const Theme& theme) {
  const auto [first, last] = itemsInSight(values, p);
  std::array<QPainterPath, 256> shapes;
  for (int line = 0; line < linesOf(values, p); ++line) {
    const double top = std::max(p.area.top(), p.tops[at(line)] + (line ? p.between : 0));
    const double bottom = std::min(p.area.bottom(), p.tops[at(line + 1)]);
    for (int item = first, next; top < bottom && item < last; item = next) {
      const std::uint8_t index = values.at(line, item);
      next = item + 1;
      while (p.beside == 0 && next < last && values.at(line, next) == index) ++next;
      const double left = std::max(p.area.left(), p.area.left() + (item - p.first) * p.scale + p.beside);
      const double end = p.area.left() + (next - p.first) * p.scale;
      const double right = std::min(p.area.right(), std::max(end, left + kLeastWide));
      if (left < right) shapes[index].addRect(QRectF(QPointF(left, top), QPointF(right, bottom)));
    }
  }
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (!shapes[i].isEmpty())
      painter.fillPath(shapes[i],
                       i == kGone             ? missingBrush(theme)
                           : i == kUnmeasured ? unmeasuredBrush(theme)
                                              : QBrush(QColor(colours[i])));
}

}  // namespace kvlab
