// SPDX-License-Identifier: GPL-3.0-or-later
// Undo and redo belong to the session unless the text field that has the keyboard has an edit of its own to take back:
// Qt's text fields keep the keys from the window even when they have none. One per window. GUI thread.
#pragma once
#include <QObject>

namespace kvlab {

class UndoKeys : public QObject {
  Q_OBJECT
 public:
  explicit UndoKeys(QObject* parent);
  bool eventFilter(QObject* target, QEvent* event) override;
};

}  // namespace kvlab
