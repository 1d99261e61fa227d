// SPDX-License-Identifier: Apache-2.0
#include "kernels/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace kvlab::kernels {
namespace {

constexpr size_t kAlignment = 64;
constexpr int kSpins = 4000;  // a few tens of microseconds before a waiter sleeps

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Buffer {
 public:
  std::byte* atLeast(size_t bytes) {
    if (bytes > m_bytes) {
      m_data.reset();
      m_bytes = 0;
      const size_t want = (bytes + bytes / 4 + 4095) / 4096 * 4096;
      m_data.reset(static_cast<std::byte*>(::operator new (want, std::align_val_t{kAlignment})));
      m_bytes = want;
    }
    return m_data.get();
  }

 private:
  struct Release {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{kAlignment}); }
  };

  std::unique_ptr<std::byte, Release> m_data;
  size_t m_bytes = 0;
};

}  // namespace

struct LoneThread::Impl {
  Buffer scratch, shared;
  static thread_local Impl* here;  // null: the thread owns the pools that it calls
};
thread_local LoneThread::Impl* LoneThread::Impl::here = nullptr;

LoneThread::LoneThread() : m_impl(std::make_unique<Impl>()) {}
LoneThread::~LoneThread() = default;
void LoneThread::enter() { Impl::here = m_impl.get(); }
void LoneThread::leave() { Impl::here = nullptr; }

// A loop is published by writing its fields, opening the gate and advancing the epoch. Workers
// enter through the gate (a count of workers inside, plus an open bit) and take chunks; the caller
// closes the gate when no chunk is left and waits only for workers that entered, so a worker that is
// still asleep costs nothing.
struct ThreadPool::Impl {
  static constexpr uint32_t kOpen = 1u << 31;

  std::vector<Buffer> buffers;  // one for each thread that was asked for
  std::vector<std::thread> workers;
  Buffer shared;

  alignas(kAlignment) std::atomic<uint32_t> epoch{0};
  alignas(kAlignment) std::atomic<uint32_t> gate{0};
  alignas(kAlignment) std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false}, failed{false};
  Call call{};
  int64_t begin = 0, end = 0, grain = 1;
  std::exception_ptr failure;  // the first one of a loop

  explicit Impl(int threads) : buffers(static_cast<size_t>(threads)) {
    while (!starts(threads))
      threads = std::max(1, static_cast<int>(workers.size() + 1) / 2);  // others need memory, too
  }

  ~Impl() { endAll(); }

  /// False where the system refused a thread.
  bool starts(int threads) {
    endAll();
    stop.store(false);
    const size_t wanted = static_cast<size_t>(threads) - 1;
    try {
      workers.reserve(wanted);
      while (workers.size() < wanted)
        workers.emplace_back([this, w = static_cast<int>(workers.size()) + 1] { work(w); });
    } catch (const std::exception&) {
    }
    return workers.size() == wanted;
  }

  void endAll() {
    stop.store(true);
    epoch.fetch_add(1);
    epoch.notify_all();
    for (std::thread& t : workers) t.join();
    workers.clear();
  }

  /// A chunk that throws ends the loop: the owner throws the first exception.
  void takeChunks(int worker) {
    try {
      for (;;) {
        const int64_t from = next.fetch_add(grain, std::memory_order_relaxed);
        if (from >= end) return;
        call.fn(call.object, from, std::min(end, from + grain), worker);
      }
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
      next.store(end, std::memory_order_relaxed);
    }
  }

  bool enter() {
    uint32_t seen = gate.load(std::memory_order_acquire);
    while (seen & kOpen) {
      if (gate.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void work(int worker) {
    uint32_t seen = 0;
    for (;;) {
      seen = waitForEpoch(seen);
      if (stop.load()) return;
      if (!enter()) continue;
      takeChunks(worker);
      gate.fetch_sub(1, std::memory_order_release);
    }
  }

  uint32_t waitForEpoch(uint32_t seen) {
    for (int i = 0; i < kSpins; ++i) {
      const uint32_t now = epoch.load(std::memory_order_acquire);
      if (now != seen) return now;
      pause();
    }
    epoch.wait(seen, std::memory_order_acquire);
    return epoch.load(std::memory_order_acquire);
  }

  void closeAndWait() {
    gate.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (int i = 0; gate.load(std::memory_order_acquire) != 0; ++i) {
      if (i < kSpins) {
        pause();
      } else {
        std::this_thread::yield();
      }
    }
  }
};

ThreadPool::ThreadPool(int threads) : m_impl(std::make_unique<Impl>(std::max(1, threads))) {}
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return static_cast<int>(m_impl->workers.size() + 1); }

void ThreadPool::run(int64_t begin, int64_t end, int64_t grain, Call call) {
  if (begin >= end) return;
  grain = std::max<int64_t>(1, grain);
  Impl& p = *m_impl;
  if (p.workers.empty() || end - begin <= grain || LoneThread::Impl::here) {
    for (int64_t at = begin; at < end; at += grain) call.fn(call.object, at, std::min(end, at + grain), 0);
    return;
  }
  p.call = call;
  p.begin = begin;
  p.end = end;
  p.grain = grain;
  p.next.store(begin, std::memory_order_relaxed);
  p.gate.fetch_or(Impl::kOpen, std::memory_order_release);
  p.epoch.fetch_add(1, std::memory_order_acq_rel);
  p.epoch.notify_all();
  p.takeChunks(0);
  p.closeAndWait();
  if (p.failed.exchange(false)) std::rethrow_exception(std::exchange(p.failure, nullptr));
}

std::byte* ThreadPool::scratch(int worker, size_t bytes) {
  LoneThread::Impl* const lone = LoneThread::Impl::here;
  return (lone ? lone->scratch : m_impl->buffers[static_cast<size_t>(worker)]).atLeast(bytes);
}

std::byte* ThreadPool::sharedScratch(size_t bytes) {
  LoneThread::Impl* const lone = LoneThread::Impl::here;
  return (lone ? lone->shared : m_impl->shared).atLeast(bytes);
}

}  // namespace kvlab::kernels
