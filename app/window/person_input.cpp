// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/person_input.h"

#include <QApplication>
#include <QStyleHints>
#include <QWindow>

// Functions that Qt Test sends events with; they reach shortcuts and menus, like real events.
Q_GUI_EXPORT void qt_handleMouseEvent(QWindow* window, const QPointF& local, const QPointF& global,
                                      Qt::MouseButtons state, Qt::MouseButton button, QEvent::Type type,
                                      Qt::KeyboardModifiers mods, int timestamp);
Q_GUI_EXPORT void qt_handleKeyEvent(QWindow* window, QEvent::Type type, int key, Qt::KeyboardModifiers mods,
                                    const QString& text, bool autorep, ushort count);

namespace kvlab {
namespace {

/// The widget takes the keyboard, unless it has it; returns the window that the keys go to.
QWindow* listener(QWidget& widget) {
  if (QWidget* popup = QApplication::activePopupWidget()) return popup->windowHandle();
  widget.activateWindow();
  const QWidget* now = widget.window()->focusWidget();
  if (!now || (now != &widget && !widget.isAncestorOf(now))) widget.setFocus(Qt::ShortcutFocusReason);
  return widget.window()->windowHandle();
}

/// The text that a key of the keyboard writes; empty for keys that write none.
QString textOf(QKeyCombination key) {
  if (key.keyboardModifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) return {};
  switch (key.key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter: return "\r";
    case Qt::Key_Tab: return "\t";
    case Qt::Key_Backspace: return "\b";
    case Qt::Key_Delete: return "\x7f";
    case Qt::Key_Escape: return "\x1b";
    default: break;
  }
  if (key.key() > 0x7e) return {};
  const QString text = QChar(static_cast<char16_t>(key.key()));
  return key.keyboardModifiers() & Qt::ShiftModifier ? text : text.toLower();
}

void press(QWidget& widget, QKeyCombination key, const QString& text) {
  for (const QEvent::Type type : {QEvent::KeyPress, QEvent::KeyRelease})
    if (QWindow* window = listener(widget))
      qt_handleKeyEvent(window, type, key.key(), key.keyboardModifiers(), text, false, 1);
}

}  // namespace

void PersonInput::send(QWidget& widget, QPointF at, QEvent::Type type, const MouseAct& act) {
  QWidget* popup = QApplication::activePopupWidget();
  QWidget& top = popup ? *popup : *widget.window();
  const QPointF global = widget.mapToGlobal(at);
  const bool held = type == QEvent::MouseButtonPress || (type == QEvent::MouseMove && act.to);
  qt_handleMouseEvent(top.windowHandle(), top.mapFromGlobal(global), global, held ? act.button : Qt::NoButton,
                      type == QEvent::MouseMove ? Qt::NoButton : act.button, type, act.modifiers, m_time += 10);
}

bool PersonInput::mouse(QWidget& widget, const MouseAct& act) {
  const QPointF end = act.to.value_or(act.from);
  for (const QPointF& place : {act.from, end})
    if (!widget.rect().contains(place.toPoint())) return false;
  widget.activateWindow();
  m_time += 2 * QGuiApplication::styleHints()->mouseDoubleClickInterval();
  send(widget, act.from, QEvent::MouseMove, {.from = act.from, .modifiers = act.modifiers});
  for (int i = 0; i < (act.twice ? 2 : 1); ++i) {
    send(widget, act.from, QEvent::MouseButtonPress, act);
    constexpr int kSteps = 8;  // moves of a drag; a hand makes several as well
    for (int step = 1; act.to && step <= kSteps; ++step)
      send(widget, act.from + (end - act.from) * step / kSteps, QEvent::MouseMove, act);
    send(widget, end, QEvent::MouseButtonRelease, act);
  }
  return true;
}

void PersonInput::keys(QWidget& widget, const QKeySequence& keys) {
  for (int i = 0; i < keys.count(); ++i) press(widget, keys[static_cast<uint>(i)], textOf(keys[static_cast<uint>(i)]));
}

void PersonInput::type(QWidget& widget, const QString& text) {
  for (const char32_t one : text.toUcs4()) {
    const QString letter = QString::fromUcs4(&one, 1);
    const bool newLine = one == U'\n';
    const int key = newLine ? Qt::Key_Return : one < 0x7f ? letter.toUpper().front().unicode() : 0;
    press(widget, QKeyCombination(letter != letter.toLower() ? Qt::ShiftModifier : Qt::NoModifier, Qt::Key(key)),
          newLine ? QString("\r") : letter);
  }
}

}  // namespace kvlab
