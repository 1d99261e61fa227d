// SPDX-License-Identifier: Apache-2.0
// Answers of the driver: asked for once, errors again; limits are raised and never lowered. Also from many threads.
#include <QtTest>

#include <atomic>
#include <thread>

#include "kernels/cuda/runtime/remembered.h"
#include "support/runner.h"

using namespace kvlab::kernels::cuda;

class RememberedTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void eachIsAskedForOnce() {
    Remembered<std::pair<int, int>, int> known;
    std::atomic<int> asked = 0, wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          int value = 0;
          const int32_t error = known.of({i % 10, i % 2}, &value, [&](int* out) { return ++asked, *out = i % 10, 0; });
          wrong += error != 0 || value != i % 10;
        }
      });
    for (std::thread& one : threads) one.join();
    QCOMPARE(asked.load(), 10);
    QCOMPARE(wrong.load(), 0);
  }

  void errorsAreAskedForAgain() {
    Remembered<int, int> known;
    int value = 0;
    QCOMPARE(known.of(3, &value, [](int*) { return 7; }), 7);
    QCOMPARE(known.of(3, &value, [](int* out) { return *out = 5, 0; }), 0);
    QCOMPARE(value, 5);
    QCOMPARE(known.of(3, &value, [](int*) { return 7; }), 0);
  }

  void limitsAreRaised() {
    Raised<int> limits;
    int64_t set = 0;
    int calls = 0;
    const auto to = [&](int key, int64_t value, int32_t error = 0) {
      return limits.to(key, value, [&] { return ++calls, set = error ? set : value, error; });
    };
    QCOMPARE(to(1, 100), 0);
    QCOMPARE(to(1, 60), 0);
    QCOMPARE(to(1, 100), 0);
    QCOMPARE(set, int64_t{100});
    QCOMPARE(calls, 1);
    QCOMPARE(to(1, 300, 1), 1);  // refused: nothing is remembered
    QCOMPARE(to(1, 200), 0);
    QCOMPARE(set, int64_t{200});
    QCOMPARE(to(2, 50), 0);
    QCOMPARE(calls, 4);
  }
};

KV_TEST(RememberedTest)
#include "remembered_test.moc"
