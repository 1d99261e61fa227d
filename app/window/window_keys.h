// SPDX-License-Identifier: GPL-3.0-or-later
// Keys that mean the same wherever the keyboard is. Undo and redo belong to the session unless the text field that has
// the keyboard has an edit of its own to take back: Qt's text fields keep the keys from the window even when they have
// none. Return presses the button with the keyboard, as Space does: Qt does so in dialogs only. One per window. GUI
// thread.
#pragma once
#include <QObject>

namespace kvlab {

class WindowKeys : public QObject {
  Q_OBJECT
 public:
  explicit WindowKeys(QObject* parent);
  bool eventFilter(QObject* target, QEvent* event) override;
};

}  // namespace kvlab
