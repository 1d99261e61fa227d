// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/cell_grid.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/canvas/axis_parts.h"

namespace kvlab {
namespace {
constexpr double kRowsApart = 7;  // pixels per row from which rows stand apart
constexpr int kHatching = 6;
}  // namespace

QSize cellImageSize(const QRect& area, double dpr) {
  return {static_cast<int>(std::lround(area.width() * dpr)), static_cast<int>(std::lround(area.height() * dpr))};
}

QImage cellImage(const CellGrid& grid, double dpr, const ColourTable& colours, const Theme& theme) {
  const auto pixels = [dpr](int length) { return static_cast<int>(std::lround(length * dpr)); };
  QImage image(cellImageSize(grid.area, dpr), QImage::Format_RGB32);
  if (image.isNull()) return image;
  std::vector<int> tops;
  for (const int top : grid.tops) tops.push_back(pixels(top - grid.area.top()));
  grid.cells.blit(image, grid.axis.first, grid.axis.scale * dpr, tops,
                  {colours, theme.surface.rgb(), pixels(kHatching)});
  image.setDevicePixelRatio(dpr);
  QPainter gaps(&image);
  for (std::size_t line = 1; grid.ruled && line + 1 < grid.tops.size(); ++line)
    gaps.fillRect(QRectF(0, grid.tops[line] - grid.area.top(), grid.area.width(), 1), theme.surface);
  const auto [begin, end] = grid.axis.inSight();
  for (int row = begin; grid.axis.scale >= kRowsApart && row < end; ++row)
    gaps.fillRect(QRectF(std::ceil(grid.axis.pixel(row) * dpr - 1e-6) / dpr, 0, 1, grid.area.height()), theme.surface);
  return image;
}

void paintSelectedRows(QPainter& painter, const InspectorContext& context, const Column<LedgerId>& rows,
                       const AxisMap& axis, const QRect& area, int barBottom, const Theme& theme) {
  if (context.selection().empty()) return;
  const auto [begin, seen] = axis.inSight();
  const int end = std::min(seen, static_cast<int>(rows.size()));
  const auto marked = [&](int row) { return row < end && context.selected(rows[static_cast<std::size_t>(row)]); };
  const auto edge = [&](int row) { return std::ceil(axis.pixel(row) - 1e-6); };
  for (int row = std::max(0, begin); row < end; ++row) {
    if (!marked(row)) continue;
    const double left = area.left() + edge(row);
    while (marked(row + 1)) ++row;
    const double wide = std::max(3.0, area.left() + edge(row) + std::max(1.0, axis.scale) - left);
    paintOutline(painter, QRectF(left, area.top(), wide, area.height()), theme.accent, 1, theme);
    painter.fillRect(QRectF(left, barBottom - 2, wide, 3), theme.accent);
  }
}

}  // namespace kvlab
