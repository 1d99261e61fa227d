// SPDX-License-Identifier: GPL-3.0-or-later
// The line above the views that takes prompts and messages. Up and Down browse earlier entries. GUI thread.
#pragma once
#include <QKeyEvent>
#include <QLineEdit>

#include "widgets/base/line_history.h"

namespace kvlab {

class PromptLine : public QLineEdit {
  Q_OBJECT
 public:
  explicit PromptLine(QWidget* parent) : QLineEdit(parent) {
    setObjectName("prompt");
    setClearButtonEnabled(true);
  }
  LineHistory& past() { return m_past; }
  /// The text was sent: it joins the history, and the line is empty.
  void used(const QString& text) {
    m_past.add(text);
    setText({});
  }
  /// The text was refused: it is in the line again, unless the person has typed on.
  void giveBack(const QString& text) {
    if (this->text().isEmpty()) setText(text);
  }

 protected:
  void keyPressEvent(QKeyEvent* event) override {
    if (event->key() == Qt::Key_Up) return setText(m_past.older(text()));
    if (event->key() == Qt::Key_Down) return setText(m_past.newer(text()));
    QLineEdit::keyPressEvent(event);
  }

 private:
  LineHistory m_past;
};

}  // namespace kvlab
