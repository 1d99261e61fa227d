// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the cells of an audit.
#include <QPainter>
#include <algorithm>

#include "widgets/base/theme.h"
#include "widgets/table/lamp_delegate.h"
#include "widgets/views/audit/audit_model.h"

namespace kvlab {
namespace {
constexpr int kLampRoom = 20;

/// Each state has its own shape: a tick mark, a cross, a ring (nothing to do), a ring with a point (waiting), a dash.
void paintState(QPainter& painter, QPointF centre, AuditState state, const Theme& theme) {
  if (state >= AuditState::Holds) return paintLamp(painter, centre, 6, state == AuditState::Holds, theme);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(state == AuditState::KeepsAll ? theme.faint : theme.muted, 1.5));
  painter.setBrush(Qt::NoBrush);
  if (state == AuditState::KeepsAll) painter.drawLine(centre + QPointF(-4.5, 0), centre + QPointF(4.5, 0));
  else paintRing(painter, centre, theme);
  if (state == AuditState::Waits) {
    painter.drawLine(centre, centre + QPointF(0, -3));
    painter.drawLine(centre, centre + QPointF(2.2, 1));
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void hatch(QPainter& painter, const QRectF& box, const Theme& theme) {
  painter.fillRect(box, Theme::mix(theme.surface, theme.error, 0.45));
  painter.save();
  painter.setClipRect(box, Qt::IntersectClip);
  painter.setPen(QPen(theme.error, 1.2));
  for (double x = box.left() - box.height(); x < box.right(); x += 4)
    painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
  painter.restore();
}

void paintLineBack(QPainter& painter, const QStyleOptionViewItem& option, bool bad, const Theme& theme) {
  if (bad) painter.fillRect(option.rect, Theme::mix(theme.surface, theme.error, 0.16));
  if (option.state & QStyle::State_Selected)
    painter.fillRect(option.rect,
                     bad ? Theme::mix(theme.surface, theme.error, theme.dark ? 0.34 : 0.3) : theme.selection);
  else if (option.state & QStyle::State_MouseOver) painter.fillRect(option.rect, Theme::faded(theme.accent, 28));
}

void paintBar(QPainter& painter, const QRectF& room, const AuditLine& line, const Theme& theme) {
  const double length = std::max(1, line.length), wide = room.width();
  const bool bounded = line.audit.bounded;
  const double asked = bounded ? std::min<double>(line.allowed(), length) : length;
  const auto x = [&](double rows) { return room.left() + std::round(rows / length * wide); };
  painter.fillRect(room, theme.sunken);
  const QColor rows = bounded ? Theme::mix(theme.surface, theme.accent, theme.dark ? 0.75 : 0.7)
                              : Theme::mix(theme.surface, theme.muted, 0.35);
  painter.fillRect(
      QRectF(QPointF(room.left(), room.top()), QPointF(x(std::min<double>(line.rows, asked)), room.bottom())), rows);
  if (line.rows > asked)
    hatch(painter, QRectF(QPointF(x(asked), room.top()), QPointF(x(line.rows), room.bottom())), theme);
  if (!bounded) return;
  painter.setPen(QPen(theme.text, 1));
  const double right = x(asked), top = room.top() - 2.5, bottom = room.bottom() + 1.5;
  painter.drawLine(QPointF(room.left() - 0.5, top), QPointF(right, top));
  painter.drawLine(QPointF(room.left() - 0.5, bottom), QPointF(right, bottom));
  painter.drawLine(QPointF(room.left() - 0.5, top), QPointF(room.left() - 0.5, bottom));
  if (line.allowed() <= line.length)
    painter.drawLine(QPointF(right - 0.5, top), QPointF(right - 0.5, bottom));  // open at the right: there was room
}
}  // namespace

void AuditDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto* line = index.data(AuditModel::LineRole).value<const AuditLine*>();
  if (!line) return DataDelegate::paint(painter, option, index);
  const auto theme = Theme::current();
  painter->save();
  paintLineBack(*painter, option, line->bad(), *theme);
  if (m_paints == State) {
    paintState(*painter, QPointF(option.rect.left() + 14, option.rect.center().y() + 0.5), line->state, *theme);
    painter->setFont(theme->ui);
    painter->setPen(line->bad() ? theme->error : line->state == AuditState::Holds ? theme->text : theme->muted);
    const QRect inner = option.rect.adjusted(kLampRoom + 6, 0, -7, 0);
    painter->drawText(inner, Qt::AlignVCenter,
                      painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, inner.width()));
  } else {
    painter->setFont(theme->mono);
    const int figure = painter->fontMetrics().horizontalAdvance(QStringLiteral("100 %")) + Theme::kMedium;
    paintBar(*painter, QRectF(option.rect).adjusted(8, 7, -7 - figure, -7), *line, *theme);
    painter->setPen(theme->muted);
    painter->drawText(option.rect.adjusted(0, 0, -7, 0), Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
  }
  painter->restore();
}

}  // namespace kvlab
