// SPDX-License-Identifier: GPL-3.0-or-later
// The seam: order, replacement by tag, one wake-up at a time, cancelling, errors, clean shutdown.
#include "app/engine/engine_thread.h"
#include "app/fake_engine.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;
using test::FakeState;

namespace {

/// A reader without an event loop: collects when woken, until a condition holds.
struct Reader {
  std::atomic<int> wakes{0};
  std::vector<SnapshotPtr> snapshots;
  std::optional<Result<json>> opened;
  int collects = 0;

  bool until(EngineThread& thread, const std::function<bool()>& done) {
    for (int i = 0; i < 20'000; ++i) {
      EngineMail mail = thread.collect();
      ++collects;
      for (auto& s : mail.snapshots) snapshots.push_back(s);
      for (auto& reply : mail.replies) reply();
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
};

EngineThread::Reply keep(std::optional<Result<json>>& into) {
  return [&into](const Result<json>& r) { into.emplace(r); };
}

}  // namespace

class EngineThreadTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void opensAndPublishes();
  void refusalAnswersEverything();
  void commandsKeepTheirOrder();
  void queriesAreReplacedByTag();
  void queriesOnlyLook();
  void measurementsWaitForTheEnd();
  void readsHaveTheirPlace();
  void tilesAreServedDuringLongCommands();
  void ticksDoNotWaitForATile();
  void endsWithATileUnderWay();
  void wakesOnceBetweenCollects();
  void cancelAnswersWhatWaits();
  void oneCommandIsCancelledAlone();
  void cancelComesTooLate();
  void forksAreCancelledAlone();
  void exceptionsBecomeErrors();
  void mailThatIsNotBusyHasTheReply();
  void mailIsBounded();
  void endsAtAnyTime();
};

void EngineThreadTest::opensAndPublishes() {
  FakeState state;
  Reader reader;
  {
    EngineThread thread(test::fakeOpener(state), keep(reader.opened), [&] { ++reader.wakes; });
    QVERIFY(reader.until(thread, [&] { return reader.opened.has_value(); }));
    QVERIFY(*reader.opened);
    QCOMPARE(reader.snapshots.size(), std::size_t{1});
    QVERIFY(!thread.busy());
    QCOMPARE(state.alive.load(), 1);
  }
  QCOMPARE(state.alive.load(), 0);
}

void EngineThreadTest::refusalAnswersEverything() {
  Reader reader;
  std::optional<Result<json>> later;
  EngineThread thread(test::refusingOpener(), keep(reader.opened), [] {});
  thread.submit("step", json::object(), keep(later));
  QVERIFY(reader.until(thread, [&] { return later.has_value(); }));
  QVERIFY(!*reader.opened);
  QCOMPARE(reader.opened->error().code, std::string("bad_model"));
  QCOMPARE(later->error().code, std::string("bad_model"));
}

void EngineThreadTest::commandsKeepTheirOrder() {
  FakeState state;
  Reader reader;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  std::vector<int> seen;
  for (int i = 0; i < 500; ++i)
    thread.submit("count", json::object(), [&](const Result<json>& r) { seen.push_back(r->get<int>()); });
  QVERIFY(reader.until(thread, [&] { return seen.size() == 500; }));
  for (int i = 0; i < 500; ++i) QCOMPARE(seen[static_cast<std::size_t>(i)], i + 1);
}

void EngineThreadTest::queriesAreReplacedByTag() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> blocked;
  int first = 0, second = 0, other = 0;
  // The opener holds the thread until all queries wait.
  std::atomic<bool> go{false};
  const EngineOpener opener = [&](const Progress& p) {
    while (!go) std::this_thread::yield();
    return test::fakeOpener(state)(p);
  };
  EngineThread thread(opener, keep(reader.opened), [] {});
  thread.query("a", "read", json::object(), [&](const Result<json>&) { ++first; });
  thread.query("b", "read", json::object(), [&](const Result<json>&) { ++other; });
  thread.query("a", "read", json::object(), [&](const Result<json>&) { ++second; });
  go = true;
  QVERIFY(reader.until(thread, [&] { return other == 1 && second == 1; }));
  QCOMPARE(first, 0);
  QCOMPARE(state.reads.load(), 2);
}

/// A verb that changes the session is no query; the engine itself refuses unknown verbs.
void EngineThreadTest::queriesOnlyLook() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> counted, jumped, measured, unknown, after;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  thread.query("a", "count", json::object(), keep(counted));
  thread.query("b", "goto", {{"tick", 3}}, keep(jumped));
  thread.query("c", "measure", json::object(), keep(measured));
  thread.query("d", "frobnicate", json::object(), keep(unknown));
  QVERIFY(reader.until(thread, [&] { return counted && jumped && measured && unknown; }));
  for (const auto* refused : {&counted, &jumped}) {
    QVERIFY(!**refused);
    QCOMPARE((*refused)->error().code, std::string("not_a_query"));
  }
  QVERIFY(*measured);
  QCOMPARE(unknown->error().code, std::string("unknown_verb"));
  thread.submit("count", json::object(), keep(after));
  QVERIFY(reader.until(thread, [&] { return after.has_value(); }));
  QCOMPARE(after->take().get<int>(), 1);
}

/// A measurement is work of its own: it never runs inside another command, which a read may.
void EngineThreadTest::measurementsWaitForTheEnd() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> blocked, measured, read;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  thread.submit("block", json::object(), keep(blocked));
  QVERIFY(reader.until(thread, [&] { return state.waiting.load() == 1; }));
  thread.query("m", "measure", json::object(), keep(measured));
  thread.query("r", "read", json::object(), keep(read));
  QVERIFY(reader.until(thread, [&] { return read.has_value(); }));
  const std::size_t before = reader.snapshots.size();
  QVERIFY(reader.until(thread, [&] { return reader.snapshots.size() > before + 5; }));
  QVERIFY(!measured && !blocked);
  thread.cancel();
  QVERIFY(reader.until(thread, [&] { return measured.has_value(); }));
  QVERIFY(blocked.has_value());
  QCOMPARE(measured->take(), json(0));  // no command was running
}

/// Handing over a snapshot happens deep inside commands: no read runs there.
void EngineThreadTest::readsHaveTheirPlace() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> stepped;
  int reads = 0;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  thread.submit("step", {{"n", 2000}}, keep(stepped));
  QVERIFY(reader.until(thread, [&] {
    thread.query("q", "read", json::object(), [&](const Result<json>&) { ++reads; });
    return stepped.has_value();
  }));
  QVERIFY(reader.until(thread, [&] { return reads > 0; }));
  QCOMPARE(state.inPublish.load(), 0);
}

void EngineThreadTest::tilesAreServedDuringLongCommands() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> blocked;
  bool tile = false;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  thread.submit("block", json::object(), keep(blocked));
  QVERIFY(reader.until(thread, [&] { return state.waiting.load() == 1; }));
  thread.fetch("map", {}, [&](const auto& r) { tile = static_cast<bool>(r); });
  QVERIFY(reader.until(thread, [&] { return tile; }));
  QVERIFY(!blocked.has_value());
  QVERIFY(thread.busy());
  thread.cancel();
  QVERIFY(reader.until(thread, [&] { return blocked.has_value(); }));
  QCOMPARE(blocked->error().code, std::string("cancelled"));
}

/// One tile is under way at a time; the others stay replaceable until it has come.
void EngineThreadTest::ticksDoNotWaitForATile() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> blocked;
  std::vector<std::string> came;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  const auto fetch = [&](const char* tag, const char* name) {
    thread.fetch(tag, {}, [&came, name](const auto&) { came.push_back(name); });
  };
  state.tilesHeld = true;
  thread.submit("block", json::object(), keep(blocked));
  QVERIFY(reader.until(thread, [&] { return state.waiting.load() == 1; }));
  fetch("map", "first");
  QVERIFY(reader.until(thread, [&] { return state.tiles.load() == 1; }));
  fetch("map", "replaced");
  fetch("strip", "strip");
  fetch("map", "last");
  const std::size_t before = reader.snapshots.size();
  QVERIFY(reader.until(thread, [&] { return reader.snapshots.size() > before + 5; }));
  QVERIFY(came.empty());
  QCOMPARE(state.tiles.load(), 1);
  state.tilesHeld = false;
  QVERIFY(reader.until(thread, [&] { return came.size() == 3; }));
  QCOMPARE(came.front(), std::string("first"));
  QVERIFY(std::ranges::count(came, "replaced") == 0);
  QVERIFY(!blocked.has_value());
  state.tilesHeld = true;  // a command that waits goes first
  fetch("map", "late");
  QVERIFY(reader.until(thread, [&] { return state.tiles.load() == 4; }));
  thread.cancel();
  QVERIFY(reader.until(thread, [&] { return blocked.has_value(); }));
  QCOMPARE(came.size(), std::size_t{3});
  state.tilesHeld = false;
  QVERIFY(reader.until(thread, [&] { return came.size() == 4; }));
}

void EngineThreadTest::endsWithATileUnderWay() {
  FakeState state;
  {
    Reader reader;
    EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
    state.tilesHeld = true;
    thread.submit("block", json::object(), [](const auto&) {});
    QVERIFY(reader.until(thread, [&] { return state.waiting.load() == 1; }));
    thread.fetch("map", {}, [](const auto&) { QFAIL("it never came"); });
    QVERIFY(reader.until(thread, [&] { return state.tiles.load() == 1; }));
  }
  QCOMPARE(state.alive.load(), 0);
}

void EngineThreadTest::wakesOnceBetweenCollects() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> stepped;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [&] { ++reader.wakes; });
  QVERIFY(reader.until(thread, [&] { return reader.opened.has_value(); }));
  const int before = reader.wakes;
  thread.submit("step", {{"n", 200}}, keep(stepped));
  while (thread.busy()) std::this_thread::yield();  // 200 snapshots, nobody collects
  QVERIFY(reader.wakes - before <= 1);
  QVERIFY(reader.until(thread, [&] { return stepped.has_value(); }));
  QCOMPARE(reader.snapshots.size(), std::size_t{201});
}

/// A reader that takes mail between a command and its reply still sees that the command is not over.
void EngineThreadTest::mailThatIsNotBusyHasTheReply() {
  FakeState state;
  Reader reader;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [&] { ++reader.wakes; });
  QVERIFY(reader.until(thread, [&] { return reader.opened.has_value(); }));
  for (int i = 0; i < 3000; ++i) {
    bool replied = false;
    thread.submit("step", {{"n", 1}}, [&](const Result<json>&) { replied = true; });
    for (bool busy = true; busy;) {
      const EngineMail mail = thread.collect();
      for (const auto& reply : mail.replies) reply();
      busy = mail.busy;
    }
    QVERIFY2(replied, qPrintable(QString("command %1").arg(i)));
  }
}

void EngineThreadTest::cancelAnswersWhatWaits() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> blocked, waiting, after;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  thread.submit("block", json::object(), keep(blocked));
  thread.submit("count", json::object(), keep(waiting));
  QVERIFY(reader.until(thread, [&] { return state.waiting.load() == 1; }));
  thread.cancel();
  QVERIFY(reader.until(thread, [&] { return blocked && waiting; }));
  QCOMPARE(waiting->error().code, std::string("cancelled"));
  thread.submit("count", json::object(), keep(after));
  QVERIFY(reader.until(thread, [&] { return after.has_value(); }));
  QCOMPARE(after->take().get<int>(), 1);
}

void EngineThreadTest::oneCommandIsCancelledAlone() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> blocked, second, third, unharmed;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  const auto first = thread.submit("block", json::object(), keep(blocked));
  const auto ticket = thread.submit("count", json::object(), keep(second));
  thread.submit("count", json::object(), keep(third));
  QVERIFY(reader.until(thread, [&] { return state.waiting.load() == 1; }));
  thread.cancel(ticket);
  QVERIFY(reader.until(thread, [&] { return second.has_value(); }));
  QCOMPARE(second->error().code, std::string("cancelled"));
  QVERIFY(!blocked && !third && thread.busy());
  thread.cancel(first);
  QVERIFY(reader.until(thread, [&] { return blocked && third; }));
  QCOMPARE(third->take().get<int>(), 1);
  QVERIFY(!thread.busy());
  thread.cancel(first);  // has ended: the next command is not meant
  thread.submit("step", {{"n", 3}}, keep(unharmed));
  thread.cancel(ticket);
  QVERIFY(reader.until(thread, [&] { return unharmed.has_value(); }));
  QCOMPARE((*unharmed)->size(), std::size_t{3});
}

/// After the last safe point of a command: it ends as if nothing had been said, and so does the next.
void EngineThreadTest::cancelComesTooLate() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> late, after;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  state.hook = [&] { thread.cancel(); };
  thread.submit("hook", json::object(), keep(late));
  QVERIFY(reader.until(thread, [&] { return late.has_value(); }));
  thread.submit("step", {{"n", 3}}, keep(after));
  QVERIFY(reader.until(thread, [&] { return after.has_value(); }));
  QVERIFY(*late);
  QCOMPARE((*after)->size(), std::size_t{3});
}

void EngineThreadTest::forksAreCancelledAlone() {
  FakeState state;
  Reader reader, other;
  std::optional<Result<EngineOpener>> forked;
  std::optional<Result<json>> blocked, also;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  thread.fork([&](const Result<EngineOpener>& r) { forked.emplace(r); });
  QVERIFY(reader.until(thread, [&] { return forked.has_value(); }));
  EngineThread copy(**forked, keep(other.opened), [] {});
  thread.submit("block", json::object(), keep(blocked));
  copy.submit("block", json::object(), keep(also));
  QVERIFY(other.until(copy, [&] { return state.waiting == 2; }));
  copy.cancel();
  QVERIFY(other.until(copy, [&] { return also.has_value(); }));
  QVERIFY(thread.busy() && state.waiting == 1);
  thread.cancel();
  QVERIFY(reader.until(thread, [&] { return blocked.has_value(); }));
}

void EngineThreadTest::exceptionsBecomeErrors() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> thrown, typed, after;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  thread.submit("throw", json::object(), keep(thrown));
  thread.submit("count", json::object(), keep(after));
  QVERIFY(reader.until(thread, [&] { return after.has_value(); }));
  QCOMPARE(thrown->error().code, std::string("internal"));
  QCOMPARE(thrown->error().why, std::string("thrown on purpose"));
  thread.submit("throw", {{"code", "bad_manifest"}}, keep(typed));
  QVERIFY(reader.until(thread, [&] { return typed.has_value(); }));
  QCOMPARE(typed->error().code, std::string("bad_manifest"));
  QVERIFY(*after);
}

void EngineThreadTest::mailIsBounded() {
  FakeState state;
  Reader reader;
  std::optional<Result<json>> stepped;
  EngineThread thread(test::fakeOpener(state), keep(reader.opened), [] {});
  thread.submit("step", {{"n", 5000}}, keep(stepped));
  while (thread.busy()) std::this_thread::yield();
  const EngineMail mail = thread.collect();
  QVERIFY(mail.snapshots.size() <= EngineThread::kMailSnapshots);
  QCOMPARE(mail.snapshots.back()->tick, Tick(5000));
}

void EngineThreadTest::endsAtAnyTime() {
  for (int delay = 0; delay < 12; ++delay) {
    FakeState state;
    {
      EngineThread thread(
          test::fakeOpener(state), [](const Result<json>&) {}, [] {});
      thread.submit("step", {{"n", 20}}, [](const Result<json>&) {});
      thread.submit("block", json::object(), [](const Result<json>&) {});
      thread.fetch("map", {}, [](const auto&) {});
      std::this_thread::sleep_for(std::chrono::microseconds(100 * delay * delay));
    }
    QCOMPARE(state.alive.load(), 0);
  }
}

KV_TEST(EngineThreadTest)
#include "engine_thread_test.moc"
