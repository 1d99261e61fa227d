// SPDX-License-Identifier: GPL-3.0-or-later
// A line of the list of series: a panel heading, or a series with a check box, a sample of its line and its value at
// the cursor. GUI thread.
#pragma once
#include "widgets/table/data_table.h"

namespace kvlab {

class SeriesDelegate : public DataDelegate {
  Q_OBJECT
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                   const QModelIndex& index) override;
};

}  // namespace kvlab
