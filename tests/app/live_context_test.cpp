// SPDX-License-Identifier: GPL-3.0-or-later
// The state that views see through the live context: newest snapshot, bounded history, scrubbing, a focus that
// follows its row, replies that die with their receiver.
#include "app/engine/live_context.h"
#include "app/fake_engine.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

class LiveContextTest : public QObject {
  Q_OBJECT

 private:
  test::FakeState m_state;
  LiveContext m_context;
  void open() {
    m_context.show(std::make_shared<LiveSession>(test::fakeOpener(m_state), [](const Result<json>&) {}));
    QTRY_VERIFY(m_context.snapshot() && !m_context.busy());
  }
  void run(const char* verb, const json& args) {
    bool done = false;
    m_context.submit(verb, args, this, [&](const Result<json>&) { done = true; });
    QTRY_VERIFY(done);
  }
  std::int64_t tick() { return m_context.snapshot()->tick.value(); }

 private Q_SLOTS:
  void cleanup() {
    m_context.show(nullptr);
    m_context.setRest(1);
  }

  void nothingIsOpen() {
    std::string code;
    m_context.submit("step", json::object(), this, [&](const Result<json>& r) { code = r.error().code; });
    QCOMPARE(code, std::string("no_session"));
    QVERIFY(!m_context.snapshot());
    QVERIFY(m_context.history().empty());
  }

  /// A script that forks and closes a thousand sessions does not wait until each was drawn.
  void sessionsOfAScriptComeAtThePaceOfViews() {
    open();
    const quint64 before = m_context.sessionNumber();
    const auto made = [this] {
      return std::make_shared<LiveSession>(test::fakeOpener(m_state), [](const Result<json>&) {});
    };
    m_context.setRest(100);
    LiveContext::LiveSessionPtr last;
    for (int i = 0; i < 50; ++i) {
      m_context.showSoon(last = made());
      QCOMPARE(m_context.coming(), last);
      if (i < 49) m_context.close(last);
    }
    QVERIFY(m_context.sessionNumber() <= before + 2);
    m_context.catchUp();
    QCOMPARE(m_context.session(), last);
    m_context.showSoon(nullptr);
    m_context.show(last);
    m_context.catchUp();
    QCOMPARE(m_context.session(), last);  // the later word counts
    m_context.close(last);
    QVERIFY(!m_context.session());
  }

  void repliesFindTheirState() {
    open();
    std::int64_t seen = -1;
    m_context.submit("step", {{"n", 5}}, this, [&](const Result<json>&) { seen = tick(); });
    QTRY_COMPARE(seen, 5);
    QCOMPARE(m_context.history().size(), std::size_t{6});
  }

  void historyIsBoundedAndOrdered() {
    open();
    for (int i = 0; i < 7; ++i) run("step", {{"n", 1000}});
    QVERIFY(m_context.history().size() <= LiveSession::kHistory * 5 / 4);
    for (std::size_t i = 1; i < m_context.history().size(); ++i)
      QVERIFY(m_context.history()[i - 1]->tick < m_context.history()[i]->tick);
    QCOMPARE(tick(), 7000);
  }

  void goingBackForgetsTheFuture() {
    open();
    run("step", {{"n", 5}});
    run("goto", {{"tick", 2}});
    QCOMPARE(tick(), 2);
    QCOMPARE(m_context.history().back()->tick, Tick(2));
  }

  /// Snapshots of another branch may not belong to this one.
  void anotherBranchHasAHistoryOfItsOwn() {
    const auto ticks = [this] {
      std::vector<std::int64_t> out;
      for (const SnapshotPtr& one : m_context.history()) out.push_back(one->tick.value());
      return out;
    };
    open();
    run("step", {{"n", 2}});
    run("goto", {{"tick", 3}, {"branch", "branch-1"}});
    QCOMPARE(ticks(), std::vector<std::int64_t>{3});
    run("step", {{"n", 2}});
    run("goto", {{"tick", 9}, {"branch", "main"}});
    QCOMPARE(ticks(), std::vector<std::int64_t>{9});
    run("goto", {{"tick", 4}});
    run("step", {{"n", 2}});
    QCOMPARE(ticks(), (std::vector<std::int64_t>{4, 5, 6}));
  }

  void scrubbingTouchesNoEngine() {
    open();
    run("step", {{"n", 5}});
    m_context.showTick(Tick(3));
    QCOMPARE(tick(), 3);
    QCOMPARE(m_context.session()->snapshot()->tick, Tick(5));
    m_context.showTick(Tick(-1));  // nothing there: stays
    QCOMPARE(tick(), 3);
    run("step", json::object());
    QCOMPARE(tick(), 6);  // news are shown
  }

  /// The engine brings a tick whose snapshot was dropped; views are not ready until it has come.
  void droppedTicksComeBack() {
    open();
    for (int i = 0; i < 7; ++i) run("step", {{"n", 1000}});
    QVERIFY(m_context.history().front()->tick > Tick(12));
    QSignalSpy failed(&m_context, &InspectorContext::failed);
    m_context.showTick(Tick(11));
    m_context.showTick(Tick(12));
    QVERIFY(m_context.arriving());
    QCOMPARE(tick(), 7000);
    QTRY_COMPARE(tick(), 12);
    QVERIFY(!m_context.arriving() && !m_context.following());
    QCOMPARE(m_context.session()->snapshot()->tick, Tick(7000));
    m_context.showTick(Tick(11));
    m_context.showTick(Tick(6999));  // another wish in between
    QTest::qWait(50);
    QCOMPARE(tick(), 6999);
    m_context.showTick(Tick(11));
    run("step", json::object());
    QTest::qWait(50);
    QCOMPARE(tick(), 7001);
    QVERIFY(!m_context.arriving() && failed.isEmpty());
  }

  void focusFollowsItsRow() {
    open();
    run("step", {{"n", 5}});
    m_context.focusPosition(Position(4));
    QCOMPARE(m_context.focus().ledger, LedgerId(4));
    m_context.showTick(Tick(2));  // two rows: the focused one is not there yet
    QCOMPARE(m_context.focus().ledger, LedgerId(4));
    QCOMPARE(m_context.focus().position, Position(-1));
    m_context.showTick(Tick(5));
    QCOMPARE(m_context.focus().position, Position(4));
  }

  void repliesDieWithTheirReceiver() {
    open();
    bool came = false;
    auto receiver = std::make_unique<QObject>();
    m_context.submit("step", json::object(), receiver.get(), [&](const Result<json>&) { came = true; });
    receiver.reset();
    run("step", json::object());
    QVERIFY(!came);
  }

  void sessionsReplaceEachOther() {
    open();
    run("step", {{"n", 2}});
    open();
    QCOMPARE(tick(), 0);
    QCOMPARE(m_state.alive.load(), 1);
  }

  /// Another session is shown when the command's reply comes: views hear nothing of it, who ran the command does.
  void repliesOfTheSessionBeforeAreNotTold() {
    open();
    const auto before = m_context.session();
    QObject listener;
    int told = 0, came = 0;
    connect(&m_context, &InspectorContext::commandReplied, &listener, [&] { ++told; });
    const auto step = [&] {
      m_context.submit("step", json::object(), [&](const Result<json>&) { ++came; });
      return ok();
    };
    QVERIFY(m_context.within({"step"}, step));
    open();
    QTRY_COMPARE(came, 1);
    QCOMPARE(told, 0);
    QVERIFY(m_context.within({"step"}, step));
    QTRY_COMPARE(came, 2);
    QCOMPARE(told, 1);
  }
};

KV_TEST(LiveContextTest)
#include "live_context_test.moc"
