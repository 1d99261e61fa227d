// SPDX-License-Identifier: GPL-3.0-or-later
// Details of a row: its token, and the errors of its key and value, one line each. Owned by QuantView. GUI thread.
#pragma once
#include <QWidget>

#include "widgets/views/quant/quant_model.h"

class QLabel;

namespace kvlab {

class QuantCard : public QWidget {
  Q_OBJECT
 public:
  explicit QuantCard(QWidget* parent);
  /// row: index in the measured context, -1 = none.
  void say(const QuantMeasure& measure, CacheLayer layer, int row, bool hovered);
  QString text() const;

 private:
  QLabel *m_token, *m_place, *m_keys, *m_values;
};

}  // namespace kvlab
