// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/script/watchdog.h"

#include <sstream>

#include "core/api/guarded.h"
#include "core/api/program_memory.h"

namespace kvlab {
namespace {

constexpr std::chrono::milliseconds kPeriod{20};

std::string seconds(double value) {
  std::ostringstream out;
  out << value << " s";
  return out.str();
}

Error late(const std::string& what) { return {"script_error", what, "", ""}; }

}  // namespace

void Watchdog::start(double total, double silent, std::function<void()> interrupt) {
  m_verdict = {};
  m_expired = false;
  m_total = total;
  m_silent = silent;
  m_interrupt = std::move(interrupt);
  m_begin = m_lastCall = Clock::now();
  m_bytes = programBytes();
  m_left = memoryLeft();
  m_done = m_inside = false;
  const Status started = guarded("the script is not watched", [this] {
    m_thread = std::thread([this] { watch(); });
    return ok();
  });
  if (!started) m_done = true;  // the script runs: whoever stops it by hand is heard
}

void Watchdog::native(bool inside) {
  const std::lock_guard lock(m_mutex);
  m_inside = inside;
  m_lastCall = Clock::now();
}

Error Watchdog::finish() {
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
    m_wake.wait_for(lock, kPeriod);
    look();
    if (m_verdict.code.empty()) continue;
    m_expired = true;
    m_interrupt();
    return;
  }
}

/// A native call takes care of memory itself.
void Watchdog::look() {
  const std::chrono::duration<double> total = Clock::now() - m_begin, silent = Clock::now() - m_lastCall;
  if (m_total > 0 && total.count() > m_total) m_verdict = late("stopped at its time limit of " + seconds(m_total));
  if (m_inside || !m_verdict.code.empty()) return;
  if (m_silent > 0 && silent.count() > m_silent)
    m_verdict = late("stopped after " + seconds(m_silent) + " of computing without a call");
  const std::int64_t grown = programBytes() - m_bytes;
  if (grown > m_left / 4 && memoryLeft() < m_left / 4)
    m_verdict = {"out_of_memory",
                 "stopped because its values fill the memory: the program has grown by " + std::to_string(grown >> 20) +
                     " MiB, and less than a quarter is left of what was free",
                 "the program would end", "keep fewer values at a time, or write them to a file"};
}

}  // namespace kvlab
