// SPDX-License-Identifier: GPL-3.0-or-later
// A model's lines in the order of a column's kKeyRole; an arrow beside the column's title says so. Lines without a
// key come first, equal ones keep their order. GUI thread.
#pragma once
#include <QSortFilterProxyModel>

namespace kvlab {

class SortedModel : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  static constexpr QChar kUp{u'↑'}, kDown{u'↓'};

  explicit SortedModel(QAbstractItemModel* source, QObject* parent);
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;
};

}  // namespace kvlab
