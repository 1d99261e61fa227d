// SPDX-License-Identifier: GPL-3.0-or-later
// The line above the views that takes prompts and messages. Up and Down browse earlier entries. GUI thread.
#pragma once
#include <QLineEdit>

#include "widgets/base/line_history.h"

namespace kvlab {

class PromptLine : public QLineEdit {
  Q_OBJECT
 public:
  explicit PromptLine(QWidget* parent);
  LineHistory& past() { return m_past; }
  /// The text was sent: it joins the history, and the line is empty.
  void used(const QString& text);
  /// The text was refused: it is in the line again, unless the person has typed on.
  void giveBack(const QString& text);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  LineHistory m_past;
};

}  // namespace kvlab
