// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/model/chance_delegate.h"

#include <QPainter>
#include <cmath>

#include "widgets/base/theme.h"
#include "widgets/views/model/chance_model.h"

namespace kvlab {

void ChanceDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  painter->save();
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme->selection);
  painter->setFont(theme->mono);
  const int figure = painter->fontMetrics().horizontalAdvance(QStringLiteral("99.99 %")) + Theme::kMedium;
  const QRectF room = QRectF(option.rect).adjusted(7, 5, -7 - figure, -5);
  const double share = index.data(ChanceModel::ShareRole).toDouble();
  painter->fillRect(room, theme->grid);
  painter->fillRect(QRectF(room.left(), room.top(), std::max(1.0, share * room.width()), room.height()),
                    index.row() == 0 ? theme->accent : Theme::mix(theme->surface, theme->accent, 0.6));
  const QVariant before = index.data(ChanceModel::BeforeRole);
  if (before.isValid() && std::abs(before.toDouble() - share) > 5e-4)
    painter->fillRect(QRectF(room.left() + before.toDouble() * room.width() - 1, room.top() - 2, 2, room.height() + 4),
                      theme->warning);
  painter->setPen(theme->text);
  painter->drawText(QRectF(room.right(), option.rect.top(), figure + 7, option.rect.height()).adjusted(0, 0, -7, 0),
                    Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
  painter->restore();
}

}  // namespace kvlab
