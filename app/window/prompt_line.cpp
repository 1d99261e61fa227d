// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/prompt_line.h"

#include <QKeyEvent>

namespace kvlab {

PromptLine::PromptLine(QWidget* parent) : QLineEdit(parent) {
  setObjectName("prompt");
  setClearButtonEnabled(true);
}

void PromptLine::used(const QString& text) {
  m_past.add(text);
  setText({});
}

void PromptLine::giveBack(const QString& text) {
  if (this->text().isEmpty()) setText(text);
}

void PromptLine::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Up) return setText(m_past.older(text()));
  if (event->key() == Qt::Key_Down) return setText(m_past.newer(text()));
  QLineEdit::keyPressEvent(event);
}

}  // namespace kvlab
