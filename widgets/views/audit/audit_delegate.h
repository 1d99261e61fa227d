// SPDX-License-Identifier: GPL-3.0-or-later
// Paints the state of an audit line as a lamp with words, and its rows as a bar over the length of the context: a frame
// for the requested rows, a fill for the resident rows, red and hatched beyond the frame. GUI thread.
#pragma once
#include "widgets/table/data_table.h"

namespace kvlab {

class AuditDelegate : public DataDelegate {
  Q_OBJECT
 public:
  enum Column { State, Share };
  AuditDelegate(Column paints, QObject* parent) : DataDelegate(parent), m_paints(paints) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  Column m_paints;
};

}  // namespace kvlab
