// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/paint_turns.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEvent>

namespace kvlab {
namespace {

constexpr int kSlice = 4;  // ms of painting between two looks at the events

}  // namespace

PaintTurns::PaintTurns(QObject* parent) : QObject(parent) {
  m_idle.setInterval(0);
  connect(&m_idle, &QTimer::timeout, this, &PaintTurns::paintSome);
  QCoreApplication::instance()->installEventFilter(this);
}

/// Qt asks a window once to paint what is dirty, and does not ask again before it has.
bool PaintTurns::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::UpdateRequest || m_painting) return false;
  auto* dock = qobject_cast<QDockWidget*>(watched);
  if (!dock || !dock->isWindow() || dock->isActiveWindow()) return false;
  m_waiting.push_back(dock);
  m_idle.start();
  return true;
}

void PaintTurns::paintSome() {
  QElapsedTimer since;
  since.start();
  m_painting = true;
  while (!m_waiting.empty() && since.elapsed() < kSlice) {
    const QPointer<QDockWidget> next = m_waiting.front();
    m_waiting.pop_front();
    QEvent request(QEvent::UpdateRequest);
    if (next) QCoreApplication::sendEvent(next, &request);
  }
  m_painting = false;
  if (m_waiting.empty()) m_idle.stop();
}

}  // namespace kvlab
