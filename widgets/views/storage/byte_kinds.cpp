// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/storage/byte_kinds.h"

#include <QCoreApplication>
#include <algorithm>
#include <numeric>

namespace kvlab {

QString title(ByteKind kind) {
  static constexpr std::array<const char*, kByteKinds> kTitles = {"K",       "V",       "scales", "tags",
                                                                  "padding", "history", "free"};
  return QCoreApplication::translate("kvlab::ByteKinds", kTitles[static_cast<std::size_t>(kind)]);
}

std::int64_t ByteKinds::sum() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }

ByteKinds bytesOf(const StorageGroup& group) {
  const StorageView& s = *group.storage;
  const std::int64_t layers = static_cast<std::int64_t>(group.layers.size()), rows = layers * s.rows;
  ByteKinds out;
  out.bytes = {rows * s.record.k,
               rows * s.record.v,
               rows * s.record.scales,
               rows * s.record.tags,
               rows * s.record.padding,
               layers * (s.held - s.rows) * s.stride,
               layers * std::clamp(s.roomSlots - s.rows, 0, std::max(0, s.poolSlots - s.held)) * s.stride};
  return out;
}

void paintKind(QPainter& painter, const QRectF& box, ByteKind kind, const Theme& theme) {
  static constexpr int kColours[] = {0, 1, 2, 3, 7, 7, 7};
  const QColor colour = seriesColour(kColours[static_cast<std::size_t>(kind)], theme.dark);
  if (kind < ByteKind::History) return painter.fillRect(box, colour);
  painter.fillRect(box, kind == ByteKind::History ? Theme::mix(theme.surface, colour, 0.25) : theme.sunken);
  if (kind == ByteKind::Free) return;
  painter.save();
  painter.setClipRect(box, Qt::IntersectClip);
  painter.setPen(QPen(colour, 1));
  for (double x = box.left() - box.height(); x < box.right(); x += 4)
    painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
  painter.restore();
}

void paintKinds(QPainter& painter, const QRectF& box, const ByteKinds& kinds, const Theme& theme) {
  const double all = static_cast<double>(std::max<std::int64_t>(1, kinds.sum()));
  double before = 0;
  for (int kind = 0; kind < kByteKinds; ++kind) {
    const double part = static_cast<double>(kinds.bytes[at(kind)]);
    if (part <= 0) continue;
    const double left = box.left() + before / all * box.width(), wide = part / all * box.width();
    paintKind(painter, QRectF(left, box.top(), std::max(1.0, wide), box.height()), static_cast<ByteKind>(kind), theme);
    before += part;
  }
}

}  // namespace kvlab
