// SPDX-License-Identifier: GPL-3.0-or-later
// Interrupts a script that runs too long, computes too long without a native call, or fills the memory. Uses a thread
// of its own. Owned by ScriptHost.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "core/api/error.h"

namespace kvlab {

class Watchdog {
 public:
  Watchdog() = default;
  ~Watchdog() { (void)finish(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Limits in seconds, 0 = none. `interrupt` is called from the watchdog's thread.
  void start(double total, double silent, std::function<void()> interrupt);
  /// A native call starts or ends; restarts the `silent` limit.
  void native(bool inside);
  bool expired() const { return m_expired; }
  /// Ends the watch; returns why the script was interrupted: script_error for its time, out_of_memory; no code if it
  /// was not.
  Error finish();

 private:
  using Clock = std::chrono::steady_clock;
  void watch();
  void look();

  std::function<void()> m_interrupt;
  std::thread m_thread;
  std::mutex m_mutex;  // guards the members below
  std::condition_variable m_wake;
  Clock::time_point m_begin, m_lastCall;
  double m_total = 0, m_silent = 0;
  std::int64_t m_bytes = 0, m_left = 0;  // memory of the program, and memory left on the machine, when the script began
  bool m_done = true, m_inside = false;
  Error m_verdict;
  std::atomic<bool> m_expired{false};
};

}  // namespace kvlab
