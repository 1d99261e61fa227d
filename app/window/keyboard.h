// SPDX-License-Identifier: GPL-3.0-or-later
// The keyboard: keys that mean the same wherever it is, and a frame around the control that has it. Both watch the
// application while they exist. One of each for a window. GUI thread.
#pragma once
#include <QPointer>
#include <QWidget>

namespace kvlab {

/// Undo and redo belong to the session unless the text field that has the keyboard has an edit of its own to take back:
/// Qt's text fields keep the keys from the window even when they have none. Return presses the button with the
/// keyboard, as Space does: Qt does so in dialogs only.
class WindowKeys : public QObject {
  Q_OBJECT
 public:
  explicit WindowKeys(QObject* parent);
  bool eventFilter(QObject* target, QEvent* event) override;
};

/// One look for buttons, tables and painted views. The frame appears when a key moves the focus and disappears with the
/// next click. Owned by the main window.
class FocusRing : public QWidget {
  Q_OBJECT
 public:
  explicit FocusRing(QWidget* window);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow();

  QWidget* m_home;
  QPointer<QWidget> m_target;
  bool m_byKey = false;
};

}  // namespace kvlab
