// SPDX-License-Identifier: Apache-2.0
// Brings an open file to the disk on a thread of its own, so that whoever appends to it need not wait. Asking often
// costs one flush at a time. A machine that gives no more threads flushes when it likes. One owner.
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
