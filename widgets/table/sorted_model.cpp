// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/table/sorted_model.h"

#include "widgets/table/data_table.h"

namespace kvlab {

SortedModel::SortedModel(QAbstractItemModel* source, QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(kKeyRole);
  setSourceModel(source);
}

QVariant SortedModel::headerData(int section, Qt::Orientation orientation, int role) const {
  const QVariant own = QSortFilterProxyModel::headerData(section, orientation, role);
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section != sortColumn()) return own;
  return QString(own.toString() + (sortOrder() == Qt::AscendingOrder ? kUp : kDown));
}

void SortedModel::sort(int column, Qt::SortOrder order) {
  QSortFilterProxyModel::sort(column, order);
  emit headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

}  // namespace kvlab
