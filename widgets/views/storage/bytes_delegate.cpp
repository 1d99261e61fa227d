// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/storage/bytes_delegate.h"

#include <QPainter>
#include <algorithm>

#include "widgets/base/theme.h"
#include "widgets/canvas/series_palette.h"
#include "widgets/views/storage/storage_model.h"

namespace kvlab {

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

void BytesDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  painter->save();
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme->selection);
  painter->setFont(theme->mono);
  const int figure = painter->fontMetrics().horizontalAdvance(QStringLiteral("999.9 MiB")) + Theme::kSmall;
  QRectF room = QRectF(option.rect).adjusted(7, 6, -7 - figure, -6);
  const auto kinds = index.data(StorageModel::KindsRole).value<ByteKinds>();
  const double share = static_cast<double>(kinds.sum()) / std::max(1.0, index.data(StorageModel::MostRole).toDouble());
  room.setWidth(std::max(2.0, room.width() * share));
  paintKinds(*painter, room, kinds, *theme);
  painter->setPen(theme->text);
  painter->drawText(QRectF(option.rect).adjusted(0, 0, -7, 0), Qt::AlignRight | Qt::AlignVCenter,
                    index.data().toString());
  painter->restore();
}

}  // namespace kvlab
