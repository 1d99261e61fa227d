// SPDX-License-Identifier: Apache-2.0
// A fixed set of persistent workers for fork-join loops. The owner runs ops (one pool per engine thread).
// Only the owning thread may call parallelFor and scratch, one loop at a time; and beside it lone threads (LoneThread).
// Results never depend on the number of workers: ops split work so that every output value is
// computed by one worker in one order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kvlab::kernels {

/// A thread that computes alone. Between enter() and leave(), both called by the thread, its loops on any pool take no
/// workers, and its scratch is what this object holds. So several threads may call one pool at a time. The scratch
/// stays from one enter() to the next.
class LoneThread {
 public:
  LoneThread();
  ~LoneThread();
  LoneThread(const LoneThread&) = delete;
  LoneThread& operator=(const LoneThread&) = delete;

  void enter();
  void leave();

 private:
  friend class ThreadPool;
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

class ThreadPool {
 public:
  /// threads counts the caller; below 1 means 1, which starts none. If the system refuses a thread, the pool tries
  /// again with half of the threads that it got.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /// Calls fn(chunkBegin, chunkEnd, worker) for chunks of at most `grain` that cover [begin, end) once, 0 <= worker <
  /// threads(). The caller takes part. A range of at most `grain` runs inline and wakes no worker. fn must not start
  /// another loop. If fn throws, as scratch() may, the loop ends early, and the caller gets the first exception.
  template <class Fn>
  void parallelFor(int64_t begin, int64_t end, int64_t grain, const Fn& fn) {
    run(begin, end, grain, Call{&invoke<Fn>, &fn});
  }

  /// Memory of worker `worker`, at least `bytes`, 64-byte aligned, contents undefined. Grows and
  /// never shrinks, so that a steady state allocates nothing. Valid until the next call for the
  /// same worker that asks for more. Inside a loop a worker may only ask for its own.
  std::byte* scratch(int worker, size_t bytes);
  /// The same for memory that all workers of one op share; called outside loops.
  std::byte* sharedScratch(size_t bytes);

 private:
  struct Call {
    void (*fn)(const void* object, int64_t begin, int64_t end, int worker);
    const void* object;
  };
  template <class Fn>
  static void invoke(const void* object, int64_t begin, int64_t end, int worker) {
    (*static_cast<const Fn*>(object))(begin, end, worker);
  }
  void run(int64_t begin, int64_t end, int64_t grain, Call call);

  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace kvlab::kernels
