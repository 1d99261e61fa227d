// SPDX-License-Identifier: GPL-3.0-or-later
// A notice that replaces an empty view: it says what the view would show, and how to get there. Owned by its view. GUI
// thread.
#pragma once
#include <QWidget>

namespace kvlab {

class EmptyNotice : public QWidget {
  Q_OBJECT
 public:
  explicit EmptyNotice(QWidget* parent);
  void say(const QString& title, const QString& how);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString m_title, m_how;
};

}  // namespace kvlab
