// SPDX-License-Identifier: GPL-3.0-or-later
// Sorts a model's lines by a column's kKeyRole; the column's title gets an arrow. Lines without a key come first; equal
// lines keep their order. GUI thread.
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
