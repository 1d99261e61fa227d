// SPDX-License-Identifier: Apache-2.0
#include "core/files/background_sync.h"

#include <unistd.h>

#include <system_error>
#include <utility>

namespace kvlab {

BackgroundSync::BackgroundSync(int file) : m_worker(std::make_unique<Worker>(file)), m_process(::getpid()) {
  try {
    m_worker->thread = std::thread([worker = m_worker.get()] { worker->run(); });
  } catch (const std::system_error&) {  // no thread is left
  }
}

BackgroundSync::~BackgroundSync() {
  if (::getpid() != m_process) {
    (void)m_worker.release();  // a condition that a thread waits for cannot be destroyed
    return;
  }
  {
    const std::lock_guard lock(m_worker->mutex);
    m_worker->ended = true;
  }
  m_worker->asked.notify_one();
  if (m_worker->thread.joinable()) m_worker->thread.join();
}

void BackgroundSync::ask() {
  {
    const std::lock_guard lock(m_worker->mutex);
    if (std::exchange(m_worker->wanted, true)) return;
  }
  m_worker->asked.notify_one();
}

void BackgroundSync::Worker::run() {
  std::unique_lock lock(mutex);
  while (true) {
    asked.wait(lock, [this] { return wanted || ended; });
    if (!std::exchange(wanted, false)) return;
    lock.unlock();
    ::fdatasync(file);
    lock.lock();
  }
}

}  // namespace kvlab
