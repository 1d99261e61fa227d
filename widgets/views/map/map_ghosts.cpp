// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the queue's effects: rows that go are struck out in the layers that lose them, rows that come stand
// between their neighbours, and the rail below the cells is hatched where rows go stale.
#include <QPainter>
#include <cmath>

#include "widgets/views/map/map_canvas.h"

namespace kvlab {
namespace {
constexpr double kLeastMark = 5;  // a ghost is never narrower, whatever the zoom
constexpr int kHatch = 5;
}  // namespace

void MapCanvas::paintGhosts(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  const auto [begin, end] = axis().inSight();
  for (const PositionRun& run : m_picture->ghosts.stale) {
    if (run.end <= begin || run.begin >= end) continue;
    const double left = std::max(0.0, std::floor(axis().pixel(run.begin)));
    const double right = std::min<double>(p.cells.width(), std::max(left + 2, std::ceil(axis().pixel(run.end))));
    paintHatch(painter, QRectF(p.cells.left() + left, p.cells.bottom() + 3, right - left, kHatch), theme);
  }
  paintLeaving(painter, p, theme);
  paintAdded(painter, p, theme);
}

void MapCanvas::paintLeaving(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  const auto [begin, end] = axis().inSight();
  const auto strike = [&](int layer, std::int32_t first, std::int32_t last) {
    const QRectF from = cellBox(p, {layer, first}), to = cellBox(p, {layer, last});
    const double more = std::max(0.0, kLeastMark - (to.right() - from.left())) / 2;
    paintStrike(painter, {from.left() - more, from.center().y(), to.right() + more, from.center().y()}, theme);
  };
  const std::vector<std::int32_t>& all = m_picture->ghosts.leaving;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t next = i + 1;
    while (next < all.size() && all[next] == all[next - 1] + 1) ++next;
    const std::int32_t first = std::max(all[i], begin), last = std::min(all[next - 1], end - 1);
    for (int layer = 0; first <= last && layer < lines(); ++layer) strike(layer, first, last);
    i = next;
  }
  for (const PlanGhosts::Evicted& one : m_picture->ghosts.evicted)
    if (one.layer.value() < lines() && one.position >= begin && one.position < end)
      strike(one.layer.value(), one.position, one.position);
}

void MapCanvas::paintAdded(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  painter.setRenderHint(QPainter::Antialiasing);
  const double wide = std::clamp(axis().scale / 2, kLeastMark, 14.0);
  for (const PlanGhosts::Added& one : m_picture->ghosts.added) {
    const double edge = axis().pixel(one.before);
    if (edge < -wide || edge > p.cells.width() + wide) continue;
    const double left = p.cells.left() + std::clamp(edge - wide / 2, 1.0, p.cells.width() - wide - 1);
    paintNew(painter, QRectF(left, p.cells.top() + 0.5, wide, p.cells.height() - 1), theme);
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace kvlab
