// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "kernels/thread_pool.h"
#include "support/runner.h"

using kvlab::kernels::LoneThread;
using kvlab::kernels::ThreadPool;

class ThreadPoolTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void coversEveryIndexOnce();
  void survivesSleepBetweenLoops();
  void scratchIsPerWorkerAndKept();
  void hasTheThreadsThatThereAre();
  void aChunkThatThrowsEndsTheLoop();
  void loneThreadsUseAPoolBesideItsOwner();
};

void ThreadPoolTest::coversEveryIndexOnce() {
  for (const int threads : {0, 1, 2, 4, 7}) {
    ThreadPool pool(threads);
    QCOMPARE(pool.threads(), std::max(1, threads));
    for (int64_t n = 0; n < 400; n += 7) {
      for (const int64_t grain : {1, 3, 1000}) {
        std::vector<std::atomic<int>> hits(static_cast<size_t>(n + 10));
        std::atomic<bool> good = true;
        pool.parallelFor(10, n + 10, grain, [&](int64_t from, int64_t to, int worker) {
          if (to - from > grain || worker < 0 || worker >= pool.threads()) good = false;
          for (int64_t i = from; i < to; ++i) ++hits[static_cast<size_t>(i)];
        });
        QVERIFY(good);
        for (int64_t i = 0; i < n + 10; ++i) QCOMPARE(hits[static_cast<size_t>(i)].load(), i < 10 ? 0 : 1);
      }
    }
  }
}

void ThreadPoolTest::survivesSleepBetweenLoops() {
  ThreadPool pool(3);
  std::atomic<int64_t> sum = 0;
  for (int round = 0; round < 30; ++round) {
    if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pool.parallelFor(0, 100, 1, [&](int64_t from, int64_t, int) { sum += from; });
  }
  QCOMPARE(sum.load(), 30 * 4950);
}

void ThreadPoolTest::scratchIsPerWorkerAndKept() {
  ThreadPool pool(2);
  std::byte* a = pool.scratch(0, 100);
  QVERIFY(a != pool.scratch(1, 100) && a != pool.sharedScratch(100));
  QCOMPARE(reinterpret_cast<uintptr_t>(a) % 64, 0u);
  QCOMPARE(pool.scratch(0, 50), a);
  QVERIFY(pool.scratch(0, 1 << 20) != nullptr);
}

/// Each thread takes address space for its stack.
void ThreadPoolTest::hasTheThreadsThatThereAre() {
  if (kvlab::test::kSanitized) QSKIP("a sanitizer needs more address space than this test leaves");
  rlimit old{};
  QCOMPARE(getrlimit(RLIMIT_AS, &old), 0);
  const rlimit little{rlim_t{1} << 31, old.rlim_max};
  QCOMPARE(setrlimit(RLIMIT_AS, &little), 0);
  const auto few = std::make_unique<ThreadPool>(1024);
  QCOMPARE(setrlimit(RLIMIT_AS, &old), 0);
  QVERIFY(few->threads() >= 1 && few->threads() < 1024);
  std::atomic<int64_t> sum = 0;
  few->parallelFor(0, 5000, 1, [&](int64_t from, int64_t, int worker) { sum += worker < few->threads() ? from : -1; });
  QCOMPARE(sum.load(), int64_t{5000} * 4999 / 2);
}

/// Each fills scratch of its own and reads it again while the others do the same.
void ThreadPoolTest::loneThreadsUseAPoolBesideItsOwner() {
  constexpr int kRounds = 200, kItems = 64;
  ThreadPool pool(3);
  std::atomic<int> wrong = 0, away = 0;
  const auto loops = [&](int mark) {
    const std::thread::id here = std::this_thread::get_id();
    for (int round = 0; round < kRounds; ++round) {
      std::byte* const shared = pool.sharedScratch(kItems);
      std::fill_n(shared, kItems, std::byte(mark));
      std::atomic<int> items = 0;
      pool.parallelFor(0, kItems, 1, [&](int64_t at, int64_t, int worker) {
        std::byte* const own = pool.scratch(worker, kItems);
        std::fill_n(own, kItems, std::byte(mark + at));
        std::this_thread::yield();
        wrong += own[kItems - 1] != std::byte(mark + at) || shared[at] != std::byte(mark);
        away += mark > 0 && std::this_thread::get_id() != here;
        ++items;
      });
      wrong += items != kItems;
    }
  };
  std::vector<std::thread> threads;
  for (int mark = 1; mark <= 3; ++mark)
    threads.emplace_back([&, mark] {
      LoneThread lone;
      lone.enter();
      loops(mark);
      lone.leave();
    });
  loops(0);
  for (std::thread& thread : threads) thread.join();
  QCOMPARE(wrong.load(), 0);
  QCOMPARE(away.load(), 0);
}

void ThreadPoolTest::aChunkThatThrowsEndsTheLoop() {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 100; ++round) {
      const auto throwing = [](int64_t from, int64_t, int) {
        if (from % 7 == 3) throw std::bad_alloc();
      };
      QVERIFY_EXCEPTION_THROWN(pool.parallelFor(0, 100, 1, throwing), std::bad_alloc);
      std::atomic<int64_t> sum = 0;
      pool.parallelFor(0, 100, 1, [&](int64_t from, int64_t, int) { sum += from; });
      QCOMPARE(sum.load(), int64_t{4950});
    }
  }
}

KV_TEST(ThreadPoolTest)
#include "thread_pool_test.moc"
