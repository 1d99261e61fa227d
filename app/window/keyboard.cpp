// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/keyboard.h"

#include <QApplication>
#include <QEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>

#include "widgets/base/theme.h"
#include "widgets/base/word_edit.h"

namespace kvlab {

namespace {

constexpr int kOutside = 2;  // pixels of the frame outside the control, if its neighbours leave room

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

FocusRing::FocusRing(QWidget* window) : QWidget(window), m_home(window) {
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setFocusPolicy(Qt::NoFocus);
  hide();
  qApp->installEventFilter(this);
  connect(qApp, &QApplication::focusChanged, this, &FocusRing::follow);
}

void FocusRing::follow() {
  m_target = QApplication::focusWidget();
  const bool here = m_byKey && m_target && m_target->window() == m_home && m_target != m_home && m_target->isVisible();
  setVisible(here);
  if (!here) return;
  const QRect inside(m_target->mapTo(m_home, QPoint()), m_target->size());
  setGeometry(inside.adjusted(-kOutside, -kOutside, kOutside, kOutside).intersected(m_home->rect()));
  raise();
  update();
}

bool FocusRing::eventFilter(QObject* watched, QEvent* event) {
  switch (event->type()) {
    case QEvent::KeyPress:
    case QEvent::ShortcutOverride: m_byKey = true; break;
    case QEvent::MouseButtonPress:
      m_byKey = false;
      hide();
      break;
    case QEvent::Move:
    case QEvent::Resize:
    case QEvent::Hide:
    case QEvent::Show:
      if (isVisible() && m_target && watched != this && watched->isWidgetType() &&
          (watched == m_target || static_cast<QWidget*>(watched)->isAncestorOf(m_target)))
        follow();
      break;
    default: break;
  }
  return QWidget::eventFilter(watched, event);
}

void FocusRing::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(Theme::current()->accent, 2));
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 3, 3);
}

}  // namespace kvlab
