// SPDX-License-Identifier: GPL-3.0-or-later
// A strip at the top of the views: an error (what, why, remedy), a question, or a line of the tour. Errors and
// questions lie over the views, so that nothing moves under the pointer; a line of the tour has room of its own. Never
// modal; stays until it is dismissed or replaced. Owned by the main window. GUI thread.
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
  /// A child of the window. `slot` is an empty widget above the views, which says where the banner stands.
  Banner(QWidget* window, QWidget* slot);
  void showError(const Error& error);
  /// Shows a line of the tour with Next and End; `next` runs once, on Next. Without `next` there are no buttons.
  void showCaption(const QString& text, std::function<void()> next);
  /// Asks; `yes` runs once, if the person agrees. The other button takes the question away.
  void ask(const QString& question, const QString& about, const QString& agree, const QString& refuse,
           std::function<void()> yes);
  /// True while a question stands.
  bool asks() const { return m_isQuestion && !isHidden(); }
  /// Takes a question away that has no object any more.
  void endQuestion();
  /// Takes an error away that is about nothing any more; a line of the tour stays.
  void endError();
  QString text() const;

 signals:
  void tourEnded();

 protected:
  void changeEvent(QEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void arrange();
  void place();

  QWidget* m_slot;
  QFrame* m_stripe;
  QLabel *m_title, *m_body;
  QPushButton *m_next, *m_close;
  bool m_arranging = false;
  std::function<void()> m_onNext;
  bool m_isError = false, m_isCaption = false, m_isQuestion = false;
};

}  // namespace kvlab
