// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/script/input_gate.h"

#include <QCoreApplication>
#include <QEvent>
#include <QKeyEvent>
#include <QWidget>

#include "app/script/script_host.h"

namespace kvlab {

namespace {

bool isInput(QEvent::Type type) {
  switch (type) {
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonRelease:
    case QEvent::MouseButtonDblClick:
    case QEvent::Wheel:
    case QEvent::KeyPress:
    case QEvent::KeyRelease:
    case QEvent::Shortcut:
    case QEvent::ShortcutOverride:
    case QEvent::ContextMenu:
    case QEvent::DragEnter:
    case QEvent::Drop:
    case QEvent::Close:
    case QEvent::TouchBegin: return true;
    default: return false;
  }
}

bool isMarked(const QObject* object) {
  for (; object; object = object->parent())
    if (object->property(kDuringScript).toBool()) return true;
  return false;
}

}  // namespace

InputGate::InputGate() { QCoreApplication::instance()->installEventFilter(this); }
InputGate::~InputGate() { QCoreApplication::instance()->removeEventFilter(this); }

/// Events of QWindows pass, because they reach a widget next, where they are filtered.
bool InputGate::eventFilter(QObject* watched, QEvent* event) {
  if (!isInput(event->type()) || isMarked(watched)) return false;
  const bool shortcut = event->type() == QEvent::Shortcut;  // shortcuts go to actions
  if (!shortcut && !watched->isWidgetType()) return false;
  event->ignore();
  return true;
}

}  // namespace kvlab
