// SPDX-License-Identifier: Apache-2.0
#include "core/files/background_sync.h"

#include <unistd.h>

#include <system_error>
#include <utility>

namespace kvlab {

BackgroundSync::BackgroundSync(int file) : m_file(file) {
  try {
    m_thread = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // no thread is left
  }
}

BackgroundSync::~BackgroundSync() {
  {
    const std::lock_guard lock(m_mutex);
    m_ended = true;
  }
  m_asked.notify_one();
  if (m_thread.joinable()) m_thread.join();
}

void BackgroundSync::ask() {
  {
    const std::lock_guard lock(m_mutex);
    if (std::exchange(m_wanted, true)) return;
  }
  m_asked.notify_one();
}

void BackgroundSync::run() {
  std::unique_lock lock(m_mutex);
  while (true) {
    m_asked.wait(lock, [this] { return m_wanted || m_ended; });
    if (!std::exchange(m_wanted, false)) return;
    lock.unlock();
    ::fdatasync(m_file);
    lock.lock();
  }
}

}  // namespace kvlab
