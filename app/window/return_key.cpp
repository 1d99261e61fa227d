// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/return_key.h"

#include <QApplication>
#include <QKeyEvent>
#include <QPushButton>
#include <QToolButton>

namespace kvlab {

ReturnKey::ReturnKey(QObject* parent) : QObject(parent) { qApp->installEventFilter(this); }

bool ReturnKey::eventFilter(QObject* target, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return false;
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool pressed = (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) &&
      !(key->modifiers() & ~Qt::KeypadModifier) && !key->isAutoRepeat();
  auto* button = qobject_cast<QAbstractButton*>(target);
  if (!pressed || !button || !button->isEnabled()) return false;
  if (!qobject_cast<QPushButton*>(button) && !qobject_cast<QToolButton*>(button)) return false;
  if (auto* tool = qobject_cast<QToolButton*>(button); tool && tool->menu()) tool->showMenu();
  else button->click();
  return true;
}

}  // namespace kvlab
