// SPDX-License-Identifier: GPL-3.0-or-later
// Paints bytes by kind as a stacked bar, relative to the largest line. GUI thread.
#pragma once
#include "widgets/table/data_table.h"
#include "widgets/views/storage/byte_kinds.h"

class QPainter;

namespace kvlab {

struct Theme;

class BytesDelegate : public DataDelegate {
  Q_OBJECT
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// Paints a swatch or a part of a bar: history is slanted, free is empty.
void paintKind(QPainter& painter, const QRectF& box, ByteKind kind, const Theme& theme);
/// Paints a bar of all kinds that fills the box.
void paintKinds(QPainter& painter, const QRectF& box, const ByteKinds& kinds, const Theme& theme);

}  // namespace kvlab
