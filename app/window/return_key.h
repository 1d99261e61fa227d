// SPDX-License-Identifier: GPL-3.0-or-later
// Return presses the button with the keyboard, as Space does: Qt does so in dialogs only. One per window. GUI thread.
#pragma once
#include <QObject>

namespace kvlab {

class ReturnKey : public QObject {
  Q_OBJECT
 public:
  explicit ReturnKey(QObject* parent);
  bool eventFilter(QObject* target, QEvent* event) override;
};

}  // namespace kvlab
