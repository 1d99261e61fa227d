// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/table/lamp.h"

#include <QPainter>

namespace kvlab {
namespace {
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

}  // namespace kvlab
