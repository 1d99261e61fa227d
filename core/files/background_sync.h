// SPDX-License-Identifier: Apache-2.0
// Flushes an open file to the disk on a thread of its own, so that code that appends need not wait. Requests during a
// flush share the next one. If the machine gives no thread, the system flushes when it likes. One owner.
#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace kvlab {

class BackgroundSync {
 public:
  /// The file stays open for as long as this lives.
  explicit BackgroundSync(int file);
  /// Waits for a flush that was asked for.
  ~BackgroundSync();
  BackgroundSync(const BackgroundSync&) = delete;
  BackgroundSync& operator=(const BackgroundSync&) = delete;
  void ask();

 private:
  struct Worker {
    explicit Worker(int opened) : file(opened) {}
    void run();

    const int file;
    std::mutex mutex;  // guards the next three
    std::condition_variable asked;
    bool wanted = false, ended = false;
    std::thread thread;
  };
  std::unique_ptr<Worker> m_worker;
  const pid_t m_process;  // a fork of it has no such thread
};

}  // namespace kvlab
