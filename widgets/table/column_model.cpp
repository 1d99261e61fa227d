// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/table/column_model.h"

namespace kvlab {

QVariant HeadedModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const ColumnHead& column = head(section);
  switch (role) {
    case Qt::DisplayRole: return column.title;
    case Qt::ToolTipRole: return column.tip.isEmpty() ? QVariant() : QVariant(column.tip);
    case Qt::TextAlignmentRole: return column.align;
    case kIdRole: return column.id;
    case kWidthRole: return column.room.width;
    case kGivesRole: return column.room.gives;
    default: return {};
  }
}

int HeadedModel::columnOf(const QString& id) const {
  for (int column = 0; column < columnCount(); ++column)
    if (head(column).id == id) return column;
  return -1;
}

void HeadedModel::changed() {
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

}  // namespace kvlab
