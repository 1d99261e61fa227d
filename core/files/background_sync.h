// SPDX-License-Identifier: Apache-2.0
// Brings an open file to the disk on a thread of its own, so that whoever appends to it need not wait. Asking often
// costs one flush at a time. A machine that gives no more threads flushes when it likes. One owner.
#pragma once
#include <condition_variable>
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
  void run();

  const int m_file;
  std::mutex m_mutex;  // guards the next three
  std::condition_variable m_asked;
  bool m_wanted = false, m_ended = false;
  std::thread m_thread;
};

}  // namespace kvlab
