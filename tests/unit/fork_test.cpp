// SPDX-License-Identifier: Apache-2.0
// A fork is a session like its origin, and from then on neither touches the other.
#include "support/scripted_session.h"

#include <thread>

#include "core/session/truth.h"
#include "core/verbs/capture_session.h"
#include "support/runner.h"

using namespace kvlab;
using namespace kvlab::test;

class ForkTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void goesOnAsItsOrigin_data();
  void goesOnAsItsOrigin();
  void neitherTouchesTheOther();
  void sharesItsRowsUntilAWrite_data();
  void sharesItsRowsUntilAWrite();
  void runsOnAnotherThread();
  void hasTheWayHere();
  void rollsADraftBack();
  void refusesABrokenSession();

 private:
  static std::unique_ptr<Session> forked(const Session& s) {
    Result<std::unique_ptr<Session>> copy = s.fork();
    if (!copy) qFatal("%s", copy.error().text().c_str());
    return copy.take();
  }
};

void ForkTest::goesOnAsItsOrigin_data() {
  QTest::addColumn<QString>("more");
  QTest::newRow("indirection") << R"({})";
  QTest::newRow("contiguous_splice") << R"({"layout":"contiguous_splice"})";
  QTest::newRow("sampled") << R"({"sampling":{"temperature":0.9,"seed":5}})";
  QTest::newRow("absolute") << R"({"position":"absolute"})";
  QTest::newRow("cache") << R"({"position":"cache"})";
}

void ForkTest::goesOnAsItsOrigin() {
  QFETCH(QString, more);
  const auto origin = opened(tinyManifest(json::parse(more.toStdString())));
  live(*origin);
  call(*origin, "evict", {{"layer", 1}, {"ledger", {6}}, {"now", true}});
  call(*origin, "inject", {{"actions", {{{"action", "delete"}, {"position", 8}}}}});
  const auto fork = forked(*origin);
  QCOMPARE(stateHash(*fork), stateHash(*origin));
  QCOMPARE(broken(*fork), QString());
  call(*origin, "step", {{"n", 4}});
  call(*fork, "step", {{"n", 4}});
  QCOMPARE(stateHash(*fork), stateHash(*origin));
  QCOMPARE(broken(*fork), QString());
}

void ForkTest::neitherTouchesTheOther() {
  const auto origin = opened(tinyManifest());
  live(*origin);
  const auto fork = forked(*origin);
  const std::string before = stateHash(*origin);
  call(*fork, "step", {{"n", 5}});
  call(*fork, "inject", {{"actions", {{{"action", "delete"}, {"position", 2}}}}});
  call(*fork, "apply");
  call(*fork, "rebuild");
  QCOMPARE(stateHash(*origin), before);
  const std::string after = stateHash(*fork);
  call(*origin, "reset");
  QCOMPARE(stateHash(*fork), after);
  QCOMPARE(broken(*fork), QString());
}

void ForkTest::sharesItsRowsUntilAWrite_data() {
  QTest::addColumn<QString>("layout");
  QTest::addColumn<QString>("rows");
  for (const LayoutName& layout : layouts())
    QTest::addRow("%s", layout.name.data()) << QString::fromUtf8(layout.name.data()) << "f32";
  QTest::addRow("int8") << "indirection"
                        << "int8";
  QTest::addRow("int8 ring") << "ring_fused"
                             << "int8";
}

void ForkTest::sharesItsRowsUntilAWrite() {
  QFETCH(QString, layout);
  QFETCH(QString, rows);
  const json manifest = tinyManifest({{"layout", layout.toStdString()},
                                      {"ring", {{"window", layout.startsWith("ring") ? 1200 : 0}}},
                                      {"kv", {{"k", rows.toStdString()}, {"v", rows.toStdString()}}},
                                      {"capacity", 2048}});
  const auto begin = [&] {
    auto s = opened(manifest);
    call(*s, "promptIds", {{"ids", someIds(700, 200, 3)}});
    return s;
  };
  const auto edit = [](Session& s, int position) {
    call(s, "inject", {{"actions", {{{"action", "replace"}, {"positions", {position}}, {"new_token_ids", {7, 9}}}}}});
    call(s, "step", {{"n", 3}});
  };
  const auto origin = begin(), alone = begin(), edited = begin();
  edit(*edited, 650);
  const std::string before = stateHash(*alone);
  const bool shares = origin->transformer().backend().onHost() && call(*origin, "bytes")["own"] > 0;
  {
    const auto fork = forked(*origin);
    const json own = call(*fork, "bytes"), its = call(*origin, "bytes");
    QCOMPARE(stateHash(*fork), before);
    QCOMPARE(own["shared"] > 0, json(shares));
    if (shares) QCOMPARE(own["own"], json(0));
    QCOMPARE(its["shared"], own["shared"]);
    edit(*fork, 650);
    QCOMPARE(stateHash(*fork), stateHash(*edited));
    QCOMPARE(stateHash(*origin), before);
    QCOMPARE(broken(*fork), QString());
    if (shares) QVERIFY(call(*fork, "bytes")["own"] > 0);
    QCOMPARE(call(*origin, "bytes")["own"], its["own"]);
    const std::string after = stateHash(*fork);
    edit(*origin, 640);
    edit(*alone, 640);
    QCOMPARE(stateHash(*origin), stateHash(*alone));
    QCOMPARE(stateHash(*fork), after);
    QCOMPARE(stateHash(*forked(*fork)), after);  // fork of a fork that has pages of its own
  }
  QCOMPARE(call(*origin, "bytes")["shared"], json(0));  // nobody else is left
  QCOMPARE(stateHash(*forked(*origin)), stateHash(*alone));
  QCOMPARE(broken(*origin), QString());
}

void ForkTest::runsOnAnotherThread() {
  const auto origin = opened(tinyManifest());
  live(*origin);
  const auto fork = forked(*origin);
  std::thread other([&] { call(*fork, "step", {{"n", 20}}); });
  call(*origin, "step", {{"n", 20}});
  other.join();
  QCOMPARE(stateHash(*fork), stateHash(*origin));
}

void ForkTest::hasTheWayHere() {
  const auto origin = opened(tinyManifest());
  live(*origin);
  const auto fork = forked(*origin);
  call(*fork, "step", {{"n", 1}});
  const std::string tip = stateHash(*fork);
  QTemporaryDir folder;
  const std::string path = folder.filePath("fork.kvcap").toStdString();
  call(*fork, "saveCapture", {{"path", path}});
  ReplayOptions verify;
  verify.verify = true;
  Result<Replay> replay = replayCapture(path, KVLAB_RESOURCES_DIR, verify);
  QVERIFY(replay && replay->ok());
  QCOMPARE(stateHash(*replay->session), tip);
  for (int i = 0; i < 3; ++i) {
    call(*origin, "undo");
    call(*fork, "undo");
  }
  call(*fork, "undo");
  QCOMPARE(stateHash(*fork), stateHash(*origin));
  for (int i = 0; i < 4; ++i) call(*fork, "redo");
  QCOMPARE(stateHash(*fork), tip);
}

/// A draft that has put other rows in place of those before it: the fork has both.
void ForkTest::rollsADraftBack() {
  for (const char* layout : {"indirection", "paged:block=4", "ring_roll", "contiguous_splice"}) {
    const auto origin = opened({{"model", "synthetic:tiny:layers=3"},
                                {"threads", 1},
                                {"layout", layout},
                                {"wlod", {{"budget", 96}, {"protect", 32}}}});
    call(*origin, "promptIds", {{"ids", someIds(80, 200, 3)}});
    const std::string before = stateHash(*origin);
    call(*origin, "speculate", {{"tokens", {30, 31}}});
    call(*origin, "promptIds", {{"ids", someIds(50, 200, 4)}});
    const auto fork = origin->fork().take();
    call(*fork, "promptIds", {{"ids", someIds(20, 200, 5)}});
    call(*fork, "rollback");
    QCOMPARE(stateHash(*fork), before);
    call(*origin, "rollback");
    QCOMPARE(stateHash(*origin), before);
  }
}

void ForkTest::refusesABrokenSession() {
  const auto origin = opened(tinyManifest());
  live(*origin);
  origin->markBroken("rows were lost");
  const Result<std::unique_ptr<Session>> copy = origin->fork();
  QVERIFY(!copy);
  QCOMPARE(copy.error().code, std::string("broken"));
}

KV_TEST(ForkTest)
#include "fork_test.moc"
