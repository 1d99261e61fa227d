// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/window_keys.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>

#include "widgets/base/word_edit.h"

namespace kvlab {
namespace {

/// True for a key of undo or redo that is not the text field's own.
bool leavesField(const QObject* target, const QKeyEvent& key) {
  const bool undo = key.matches(QKeySequence::Undo);
  if (qobject_cast<const WordEdit*>(target) || (!undo && !key.matches(QKeySequence::Redo))) return false;
  if (const auto* line = qobject_cast<const QLineEdit*>(target))
    return !(undo ? line->isUndoAvailable() : line->isRedoAvailable());
  if (const auto* text = qobject_cast<const QPlainTextEdit*>(target))
    return !(undo ? text->document()->isUndoAvailable() : text->document()->isRedoAvailable());
  return false;
}

/// Presses the button that Return is meant for; false if the key is for another.
bool pressButton(QObject* target, const QKeyEvent& key) {
  const bool pressed = (key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter) &&
      !(key.modifiers() & ~Qt::KeypadModifier) && !key.isAutoRepeat();
  auto* tool = qobject_cast<QToolButton*>(target);
  QAbstractButton* button = tool ? tool : static_cast<QAbstractButton*>(qobject_cast<QPushButton*>(target));
  if (!pressed || !button || !button->isEnabled()) return false;
  if (tool && tool->menu()) tool->showMenu();
  else button->click();
  return true;
}

}  // namespace

WindowKeys::WindowKeys(QObject* parent) : QObject(parent) { qApp->installEventFilter(this); }

bool WindowKeys::eventFilter(QObject* target, QEvent* event) {
  if (event->type() == QEvent::KeyPress) return pressButton(target, *static_cast<QKeyEvent*>(event));
  if (event->type() != QEvent::ShortcutOverride || !leavesField(target, *static_cast<QKeyEvent*>(event))) return false;
  event->ignore();
  return true;
}

}  // namespace kvlab
