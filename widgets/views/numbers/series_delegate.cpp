// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/numbers/series_delegate.h"

#include <QMouseEvent>
#include <QPainter>

#include "widgets/base/theme.h"
#include "widgets/canvas/series_palette.h"
#include "widgets/views/numbers/series_model.h"

namespace kvlab {
namespace {
void paintBox(QPainter& painter, const QRectF& box, bool on, const QColor& colour, const Theme& theme) {
  painter.setPen(QPen(on ? colour : theme.faint, 1));
  painter.setBrush(on ? colour : QColor(Qt::transparent));
  painter.drawRoundedRect(box, 2, 2);
  if (!on) return;
  painter.setPen(QPen(theme.dark ? theme.sunken : theme.surface, 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.drawPolyline(QPolygonF(
      {box.topLeft() + QPointF(2.4, 5.6), box.topLeft() + QPointF(4.6, 7.9), box.topLeft() + QPointF(8.6, 3)}));
}

void paintSeries(QPainter& painter, const QRect& rect, const QModelIndex& index, const Theme& theme) {
  const bool on = index.data(SeriesModel::OnRole).toBool();
  const int pen = index.data(SeriesModel::PenRole).toInt();
  const double middle = rect.center().y() + 0.5;
  painter.setRenderHint(QPainter::Antialiasing);
  paintBox(painter, QRectF(rect.left() + 10, middle - 5.5, 11, 11), on, seriesColour(pen, theme.dark), theme);
  painter.setPen(on ? seriesPen(pen, theme.dark, 2) : QPen(theme.border, 2));
  painter.drawLine(QPointF(rect.left() + 29, middle), QPointF(rect.left() + 51, middle));
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setFont(theme.ui);
  painter.setPen(on ? theme.text : theme.muted);
  painter.drawText(rect.adjusted(59, 0, 0, 0), Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, rect.width() - 61));
}
}  // namespace

void SeriesDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  painter->save();
  const bool heading = index.data(SeriesModel::HeadingRole).toBool();
  const bool value = index.column() > 0;
  if (heading) painter->fillRect(option.rect, theme->raised);
  else if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme->selection);
  else if (option.state & QStyle::State_MouseOver) painter->fillRect(option.rect, Theme::faded(theme->accent, 28));
  if (heading || value) {
    painter->setFont(heading ? (value ? theme->small : theme->smallStrong) : theme->mono);
    painter->setPen(heading ? theme->muted : index.data(SeriesModel::OnRole).toBool() ? theme->text : theme->faint);
    painter->drawText(option.rect.adjusted(8, 0, -8, 0), (value ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter,
                      index.data().toString());
  } else {
    paintSeries(*painter, option.rect, index, *theme);
  }
  painter->restore();
}

bool SeriesDelegate::editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem&,
                                 const QModelIndex& index) {
  const bool clicked =
      event->type() == QEvent::MouseButtonRelease && static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton;
  const bool space = event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space;
  const QModelIndex name = index.siblingAtColumn(0);
  if (!(clicked || space) || !(name.flags() & Qt::ItemIsUserCheckable)) return false;
  const bool on = name.data(SeriesModel::OnRole).toBool();
  return model->setData(name, static_cast<int>(on ? Qt::Unchecked : Qt::Checked), Qt::CheckStateRole);
}

}  // namespace kvlab
