// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes of a pool by kind, measured from its row records and slots, and bars of them; the storage of each group of
// layers as a table, one line each. Owned by its view. GUI thread.
#pragma once
#include <QPainter>
#include <QString>
#include <array>

#include "widgets/base/finding_marks.h"
#include "widgets/base/storage_groups.h"
#include "widgets/base/theme.h"
#include "widgets/table/column_model.h"

namespace kvlab {

enum class ByteKind : std::uint8_t { K, V, Scales, Tags, Padding, History, Free };
inline constexpr int kByteKinds = 7;
QString title(ByteKind kind);

/// Bytes of all layers of a group: of resident rows by kind, of rows held by history, and of free room at capacity. The
/// addresses that are reserved for older states are no part of them.
struct ByteKinds {
  std::array<std::int64_t, kByteKinds> bytes{};
  std::int64_t sum() const;
  std::int64_t of(ByteKind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
};
ByteKinds bytesOf(const StorageGroup& group);

/// Paints a swatch or a part of a bar: history is slanted, free is empty.
void paintKind(QPainter& painter, const QRectF& box, ByteKind kind, const Theme& theme);
/// Paints a bar of all kinds that fills the box.
void paintKinds(QPainter& painter, const QRectF& box, const ByteKinds& kinds, const Theme& theme);

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
