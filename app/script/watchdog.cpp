// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/script/watchdog.h"

namespace kvlab {

void Watchdog::start(double total, double silent) {
  m_verdict.clear();
  m_expired = false;
  if (total <= 0 && silent <= 0) return;
  m_total = total;
  m_silent = silent;
  m_begin = m_lastCall = Clock::now();
  m_done = m_inside = false;
  m_thread = std::thread([this] { watch(); });
}

void Watchdog::native(bool inside) {
  const std::lock_guard lock(m_mutex);
  m_inside = inside;
  m_lastCall = Clock::now();
}

QString Watchdog::finish() {
  {
    const std::lock_guard lock(m_mutex);
    m_done = true;
  }
  m_wake.notify_all();
  if (m_thread.joinable()) m_thread.join();
  return m_verdict;
}

void Watchdog::watch() {
  std::unique_lock lock(m_mutex);
  while (!m_done) {
    m_wake.wait_for(lock, std::chrono::milliseconds(50));
    const std::chrono::duration<double> total = Clock::now() - m_begin;
    const std::chrono::duration<double> silent = Clock::now() - m_lastCall;
    if (m_total > 0 && total.count() > m_total) m_verdict = QString("stopped at its time limit of %1 s").arg(m_total);
    else if (m_silent > 0 && !m_inside && silent.count() > m_silent)
      m_verdict = QString("stopped after %1 s of computing without a call").arg(m_silent);
    else continue;
    m_expired = true;
    m_engine.setInterrupted(true);
    return;
  }
}

}  // namespace kvlab
