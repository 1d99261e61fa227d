// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/event_waits.h"

#include <QCoreApplication>
#include <QEvent>
#include <chrono>

namespace kvlab {

namespace {

using Clock = std::chrono::steady_clock;

struct Posted : QEvent {
  Posted() : QEvent(QEvent::User), at(Clock::now()) {}
  Clock::time_point at;
};

}  // namespace

EventWaits::EventWaits() {
  m_thread = std::thread([this] {
    for (; !m_stop; std::this_thread::sleep_for(std::chrono::milliseconds(1)))
      QCoreApplication::postEvent(this, new Posted);
  });
}

EventWaits::~EventWaits() {
  m_stop = true;
  m_thread.join();
}

bool EventWaits::event(QEvent* event) {
  if (event->type() != QEvent::User) return QObject::event(event);
  const std::chrono::duration<double, std::milli> waited = Clock::now() - static_cast<Posted*>(event)->at;
  m_waits.push_back(waited.count());
  return true;
}

}  // namespace kvlab
