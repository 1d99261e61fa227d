// SPDX-License-Identifier: GPL-3.0-or-later
// A frame around the control with the keyboard focus: one look for buttons, tables and painted views. It appears when a
// key moves the focus and disappears with the next click. Watches the application while it exists. Owned by the main
// window. GUI thread.
#pragma once
#include <QPointer>
#include <QWidget>

namespace kvlab {

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
