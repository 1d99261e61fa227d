// SPDX-License-Identifier: GPL-3.0-or-later
// The storage of each group of layers, one line each, and the painting of its bytes. Owned by its view. GUI thread.
#pragma once
#include "widgets/base/finding_marks.h"
#include "widgets/table/column_model.h"
#include "widgets/views/storage/byte_kinds.h"

namespace kvlab {

class StorageModel : public LineModel<StorageGroup> {
  Q_OBJECT
 public:
  enum Role { KindsRole = Qt::UserRole + 60, MostRole };  // ByteKinds; bytes of the largest line

  explicit StorageModel(QObject* parent);
  void show(std::vector<StorageGroup> groups, FindingMarks findings);
  const std::vector<StorageGroup>& groups() const { return lines(); }
  int rowOf(CacheLayer layer) const;  // -1 = none

 private:
  std::int64_t m_most = 1;
  FindingMarks m_findings;
};

/// Paints bytes by kind as a stacked bar, relative to the largest line.
class BytesDelegate : public DataDelegate {
  Q_OBJECT
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// "in place", "two slices", "table", "roll".
QString title(ReadPath path);

}  // namespace kvlab

Q_DECLARE_METATYPE(kvlab::ByteKinds)
