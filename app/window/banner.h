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
  /// Shows a line of the tour with Next and End, and Back where a line was before; `next` runs once, on Next. Without
  /// `next` there are no buttons.
  void showCaption(const QString& text, std::function<void()> next, bool hasBefore = false);
  struct Question {
    QString id, text, about;
    QString agree, refuse;
    std::function<void()> yes;
    QString other = {};  // a third answer
    std::function<void()> otherwise = {};
  };
  /// Asks; the answer that the person chooses runs once, and refusing takes the question away.
  void ask(const Question& question);
  /// True while the question stands.
  bool asks(const QString& id) const { return m_question == id && !isHidden(); }
  /// Takes a question away that has no object any more.
  void endQuestion(const QString& id);
  /// Takes an error away that is about nothing any more; a line of the tour stays.
  void endError();
  QString text() const;

 signals:
  void tourEnded();
  void backAsked();

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
  QPushButton *m_next, *m_back, *m_close;
  bool m_arranging = false;
  std::function<void()> m_onNext, m_onOther;
  QString m_question;  // its id; empty = none
  bool m_isError = false, m_isCaption = false, m_hasBefore = false;
};

}  // namespace kvlab
