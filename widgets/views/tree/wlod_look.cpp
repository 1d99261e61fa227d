// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/wlod_look.h"

#include "widgets/base/theme.h"
#include "widgets/canvas/colour_map.h"

namespace kvlab {
namespace {

/// Patterns do not move with boxes: their lines are aligned to the origin.
void strokes(QPainter& painter, const QRectF& box, bool rising, double apart) {
  const double tall = box.height();
  const auto first = [&](double from) { return std::floor(from / apart) * apart; };
  for (double x = first(box.left() - tall); x < box.right(); x += apart)
    painter.drawLine(rising ? QPointF(x, box.bottom()) : QPointF(x, box.top()),
                     rising ? QPointF(x + tall, box.top()) : QPointF(x + tall, box.bottom()));
}

void dots(QPainter& painter, const QRectF& box) {
  constexpr double kApart = 6;
  painter.setPen(Qt::NoPen);
  for (double x = std::ceil(box.left() / kApart) * kApart; x < box.right(); x += kApart)
    for (double y = box.top() + 3; y < box.bottom() - 1; y += kApart) painter.drawRect(QRectF(x, y, 1.5, 1.5));
}

}  // namespace

QColor whyColour(DirtyWhy why, const Theme& theme) {
  switch (why) {
    case DirtyWhy::Temporal: return Theme::mix(theme.surface, seriesColour(0, theme.dark), theme.dark ? 0.62 : 0.55);
    case DirtyWhy::Hierarchical:
      return Theme::mix(theme.surface, seriesColour(1, theme.dark), theme.dark ? 0.92 : 0.80);
    case DirtyWhy::Both: return Theme::mix(theme.surface, seriesColour(3, theme.dark), theme.dark ? 0.85 : 0.75);
    default: return Theme::mix(theme.surface, theme.text, theme.dark ? 0.27 : 0.22);
  }
}

QColor levelColour(int level, const Theme& theme) {
  constexpr int kOf[] = {0, 2, 4};
  return Theme::mix(theme.surface, seriesColour(kOf[std::clamp(level, 0, 2)], theme.dark), theme.dark ? 0.66 : 0.58);
}

void paintWhy(QPainter& painter, const QRectF& box, DirtyWhy why, const Theme& theme) {
  painter.fillRect(box, whyColour(why, theme));
  if (why == DirtyWhy::Clean || box.width() < 4 || box.height() < 5) return;
  painter.save();
  painter.setClipRect(box, Qt::IntersectClip);
  painter.setRenderHint(QPainter::Antialiasing);
  const QColor ink = theme.dark ? QColor(0, 0, 0, 150) : QColor(255, 255, 255, 190);
  painter.setPen(QPen(ink, 1.2));
  painter.setBrush(ink);
  if (why == DirtyWhy::Temporal) dots(painter, box);
  else strokes(painter, box, true, 6);
  if (why == DirtyWhy::Both) strokes(painter, box, false, 6);
  painter.restore();
}

void paintLock(QPainter& painter, QPointF foot, double size, const QColor& colour) {
  const double tall = size * 0.7;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(colour, 1.2));
  painter.setBrush(Qt::NoBrush);
  painter.drawArc(QRectF(foot.x() - size * 0.3, foot.y() - tall - size * 0.45, size * 0.6, size * 0.9), 0, 180 * 16);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  painter.drawRect(QRectF(foot.x() - size / 2, foot.y() - tall, size, tall));
  painter.restore();
}

QBrush protectedBrush(const Theme& theme) {
  QImage tile(8, 8, QImage::Format_ARGB32_Premultiplied);
  tile.fill(Qt::transparent);
  const QColor line = Theme::mix(theme.surface, theme.muted, 0.35);
  for (int i = 0; i < 8; ++i) tile.setPixelColor(i, i, line);
  return QBrush(tile);
}

}  // namespace kvlab
