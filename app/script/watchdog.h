// SPDX-License-Identifier: GPL-3.0-or-later
// Interrupts a script that runs too long, or computes too long without a native call. Uses its own thread, because the
// script blocks the GUI thread. Owned by ScriptHost; calls from the GUI thread.
#pragma once
#include <QJSEngine>
#include <QString>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace kvlab {

class Watchdog {
 public:
  explicit Watchdog(QJSEngine& engine) : m_engine(engine) {}
  ~Watchdog() { (void)finish(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Limits in seconds, 0 = none.
  void start(double total, double silent);
  /// A native call starts or ends; restarts the `silent` limit.
  void native(bool inside);
  bool expired() const { return m_expired; }
  /// Ends the watch; returns why the script was interrupted, empty if it was not.
  QString finish();

 private:
  using Clock = std::chrono::steady_clock;
  void watch();

  QJSEngine& m_engine;
  std::thread m_thread;
  std::mutex m_mutex;  // guards the members below
  std::condition_variable m_wake;
  Clock::time_point m_begin, m_lastCall;
  double m_total = 0, m_silent = 0;
  bool m_done = true, m_inside = false;
  QString m_verdict;
  std::atomic<bool> m_expired{false};
};

}  // namespace kvlab
