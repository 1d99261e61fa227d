// SPDX-License-Identifier: GPL-3.0-or-later
// The probability column of the next tokens: a bar of the probability, its number, and a mark at the previous tick's
// probability. GUI thread.
#pragma once
#include "widgets/table/data_table.h"

namespace kvlab {

class ChanceDelegate : public DataDelegate {
  Q_OBJECT
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace kvlab
