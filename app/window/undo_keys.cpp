// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/undo_keys.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>

#include "widgets/base/word_edit.h"

namespace kvlab {

UndoKeys::UndoKeys(QObject* parent) : QObject(parent) { qApp->installEventFilter(this); }

bool UndoKeys::eventFilter(QObject* target, QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride || qobject_cast<WordEdit*>(target)) return false;
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool undo = key->matches(QKeySequence::Undo);
  if (!undo && !key->matches(QKeySequence::Redo)) return false;
  bool own = true;
  if (const auto* line = qobject_cast<QLineEdit*>(target))
    own = undo ? line->isUndoAvailable() : line->isRedoAvailable();
  else if (const auto* text = qobject_cast<QPlainTextEdit*>(target))
    own = undo ? text->document()->isUndoAvailable() : text->document()->isRedoAvailable();
  if (!own) event->ignore();
  return !own;
}

}  // namespace kvlab
