// SPDX-License-Identifier: GPL-3.0-or-later
// A lamp with a word: a disc with a tick mark for "holds", a square on its corner with a cross for "broken". Shape,
// sign, word and colour have the same meaning. GUI thread.
#pragma once
#include "widgets/base/theme.h"
#include "widgets/table/data_table.h"

namespace kvlab {

void paintLamp(QPainter& painter, QPointF centre, double radius, bool good, const Theme& theme);
/// In place of a lamp: nothing is known yet, or there is nothing to do.
void paintRing(QPainter& painter, QPointF centre, const Theme& theme);

/// A DataTable delegate whose column 0 shows a lamp, chosen by the model's kBadRole; a ring where the tone of the text
/// is faint, because nothing is known.
class LampDelegate : public DataDelegate {
  Q_OBJECT
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace kvlab
