// SPDX-License-Identifier: GPL-3.0-or-later
// A strip above the views: an error (what, why, remedy) or a line of the tour. Never modal; stays until it is dismissed
// or replaced. Owned by the main window. GUI thread.
#pragma once
#include <QFrame>
#include <functional>

#include "core/api/error.h"

class QLabel;
class QPushButton;

namespace kvlab {

class Banner : public QFrame {
  Q_OBJECT
 public:
  explicit Banner(QWidget* parent);
  void showError(const Error& error);
  /// Shows a line of the tour with Next and End; `next` runs once, on Next. Without `next` there are no buttons.
  void showCaption(const QString& text, std::function<void()> next);
  /// Takes an error away that is about nothing any more; a line of the tour stays.
  void endError();
  QString text() const;

 signals:
  void tourEnded();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void arrange();

  QFrame* m_stripe;
  QLabel *m_title, *m_body;
  QPushButton *m_next, *m_close;
  bool m_arranging = false;
  std::function<void()> m_onNext;
  bool m_isError = false, m_isCaption = false;
};

}  // namespace kvlab
