// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/table/lamp_delegate.h"

#include <QPainter>

namespace kvlab {
namespace {
constexpr int kLampRoom = 20;

void paintSign(QPainter& painter, QPointF c, double r, bool good) {
  if (good) {
    painter.drawPolyline(QPolygonF(
        {c + QPointF(-0.45 * r, 0.05 * r), c + QPointF(-0.1 * r, 0.42 * r), c + QPointF(0.5 * r, -0.38 * r)}));
    return;
  }
  painter.drawLine(c + QPointF(-0.33 * r, -0.33 * r), c + QPointF(0.33 * r, 0.33 * r));
  painter.drawLine(c + QPointF(0.33 * r, -0.33 * r), c + QPointF(-0.33 * r, 0.33 * r));
}
}  // namespace

void paintRing(QPainter& painter, QPointF centre, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.muted, 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawEllipse(centre, 5, 5);
  painter.restore();
}

void paintLamp(QPainter& painter, QPointF centre, double radius, bool good, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(good ? theme.ok : theme.error);
  if (good) painter.drawEllipse(centre, radius, radius);
  else {
    const double r = radius * 1.2;
    painter.drawPolygon(
        QPolygonF({centre + QPointF(0, -r), centre + QPointF(r, 0), centre + QPointF(0, r), centre + QPointF(-r, 0)}));
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(
      QPen(theme.dark ? theme.sunken : theme.surface, radius / 3.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  paintSign(painter, centre, radius, good);
  painter.restore();
}

void LampDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  if (index.column() != 0) return DataDelegate::paint(painter, option, index);
  const auto theme = Theme::current();
  const bool bad = index.data(kBadRole).toBool();
  if (bad) painter->fillRect(option.rect, Theme::mix(theme->surface, theme->error, 0.16));
  if (option.state & QStyle::State_Selected)
    painter->fillRect(option.rect, bad ? Theme::mix(theme->selection, theme->error, 0.3) : theme->selection);
  const QPointF centre(option.rect.left() + 14, option.rect.center().y() + 0.5);
  if (index.data(kToneRole).toInt() == static_cast<int>(Tone::Faint)) paintRing(*painter, centre, *theme);
  else paintLamp(*painter, centre, 6, !bad, *theme);
  painter->setFont(theme->ui);
  painter->setPen(bad ? theme->error : theme->muted);
  painter->drawText(option.rect.adjusted(kLampRoom + 6, 0, 0, 0), Qt::AlignVCenter, index.data().toString());
}

}  // namespace kvlab
