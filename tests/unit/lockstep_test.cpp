// SPDX-License-Identifier: Apache-2.0
// How many jobs run at a time.
#include "core/lanes/lockstep.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "support/runner.h"
#include "support/scripted_session.h"

using namespace kvlab;
using namespace kvlab::test;

class LockstepTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void asManyRunAsThereAreThreads_data();
  void asManyRunAsThereAreThreads();
};

void LockstepTest::asManyRunAsThereAreThreads_data() {
  QTest::addColumn<int>("threads");
  QTest::addColumn<int>("jobs");
  QTest::addColumn<int>("most");
  QTest::newRow("one thread") << 1 << 3 << 1;
  QTest::newRow("a thread for each") << 3 << 3 << 3;
  QTest::newRow("fewer threads than jobs") << 2 << 5 << 2;
  QTest::newRow("fewer jobs than threads") << 4 << 2 << 2;
  QTest::newRow("few jobs have all threads in turn") << 5 << 2 << 1;
}

/// Each job stays until as many are there as the test expects, or for a moment.
void LockstepTest::asManyRunAsThereAreThreads() {
  QFETCH(int, threads);
  QFETCH(int, jobs);
  QFETCH(int, most);
  const auto session = opened(tinyManifest({{"threads", threads}}));
  if (!session->transformer().backend().onHost()) QSKIP("a device makes one pass per sequence");
  Lockstep lockstep(session->transformer());
  std::mutex mutex;
  std::condition_variable came;
  int here = 0, seen = 0, done = 0;
  const auto job = [&] {
    std::unique_lock lock(mutex);
    seen = std::max(seen, ++here);
    came.notify_all();
    came.wait_for(lock, std::chrono::seconds(5), [&] { return seen >= most; });
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // others could come
    lock.lock();
    --here;
    ++done;
  };
  lockstep.run(std::vector<std::function<void()>>(static_cast<std::size_t>(jobs), job));
  QCOMPARE(done, jobs);
  QCOMPARE(seen, most);
}

KV_TEST(LockstepTest)
#include "lockstep_test.moc"
