// SPDX-License-Identifier: GPL-3.0-or-later
// How each group of layers is stored, one line each. Owned by its view. GUI thread.
#pragma once
#include <QAbstractTableModel>

#include "widgets/views/storage/byte_kinds.h"

namespace kvlab {

class StorageModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Layers, Layout, KeyType, ValueType, Rows, Pool, Held, Holes, Stride, Read, PerRead, Bytes, kColumns };
  enum Role { KindsRole = Qt::UserRole + 60, MostRole };  // ByteKinds; bytes of the largest line

  using QAbstractTableModel::QAbstractTableModel;
  void show(std::vector<StorageGroup> groups);
  const std::vector<StorageGroup>& groups() const { return m_groups; }
  int rowOf(Layer layer) const;  // -1 = none

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const StorageGroup& group, int column) const;
  QString tip(const StorageGroup& group, int column) const;

  std::vector<StorageGroup> m_groups;
  std::int64_t m_most = 1;
};

/// "in place", "two slices", "table", "roll".
QString title(ReadPath path);

}  // namespace kvlab

Q_DECLARE_METATYPE(kvlab::ByteKinds)
