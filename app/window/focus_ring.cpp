// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/focus_ring.h"

#include <QApplication>
#include <QEvent>
#include <QPainter>

#include "widgets/base/theme.h"

namespace kvlab {
namespace {
constexpr int kOutside = 2;  // pixels outside the control, if its neighbours leave room
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
