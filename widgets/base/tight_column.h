// SPDX-License-Identifier: GPL-3.0-or-later
// A column of widgets without gaps, as in views. GUI thread.
#pragma once
#include <QVBoxLayout>

namespace kvlab {

/// The layout of `owner`.
inline QVBoxLayout* tightColumn(QWidget* owner) {
  auto* column = new QVBoxLayout(owner);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  return column;
}

}  // namespace kvlab
