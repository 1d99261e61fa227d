// SPDX-License-Identifier: Apache-2.0
// Snapshots are read on other threads while the engine goes on: readers walk everything in them, keep
// some, and walk those again. A published snapshot never changes. Made for the thread sanitizer; holds
// without it, too.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "core/session/ticks.h"
#include "support/runner.h"
#include "support/scripted_session.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

/// The mailbox in which the engine leaves snapshots: the newest few, the oldest dropped.
class Mailbox {
 public:
  void put(SnapshotPtr snapshot) {
    const std::lock_guard lock(m_mutex);
    m_mail.push_back(std::move(snapshot));
    if (m_mail.size() > 4) m_mail.pop_front();
    m_any.notify_one();
  }
  void close() {
    const std::lock_guard lock(m_mutex);
    m_closed = true;
    m_any.notify_all();
  }
  /// Null once it is closed and empty.
  SnapshotPtr take() {
    std::unique_lock lock(m_mutex);
    m_any.wait(lock, [this] { return m_closed || !m_mail.empty(); });
    if (m_mail.empty()) return nullptr;
    SnapshotPtr snapshot = std::move(m_mail.front());
    m_mail.pop_front();
    return snapshot;
  }

 private:
  std::mutex m_mutex;
  std::condition_variable m_any;
  std::deque<SnapshotPtr> m_mail;
  bool m_closed = false;
};

/// Reads every value once.
class Walk {
 public:
  std::uint64_t over(const Snapshot& s) {
    for (LedgerId id : s.context) {
      add(id.value());
      m_sound = m_sound && s.ledger.contains(id);
    }
    for (std::size_t i = 0; i < s.ledger.size(); ++i) row(s.ledger[LedgerId(static_cast<int>(i))]);
    for (const auto& map : s.layers) {
      double last = -1;
      for (std::size_t i = 0; i < map->size(); ++i) {
        add(map->ledger[i].value()), add(map->slotOf[i].value());
        m_sound = m_sound && map->phase(i).value() > last;
        last = map->phase(i).value();
      }
    }
    if (s.exactness)
      for (Exactness e : *s.exactness) add(static_cast<int>(e));
    if (s.report) add(s.report->tick.value()), add(static_cast<std::int64_t>(toJson(*s.report).dump().size()));
    for (const TokenChance& t : s.topk) add(t.id.value()), text(t.text);
    for (const InvariantState& i : s.invariants) add(i.ok), text(i.detail);
    add(static_cast<std::int64_t>(s.pending.size())), add(s.bytes.moved), add(s.canUndo), text(s.branch);
    return m_sum;
  }
  bool sound() const { return m_sound; }

 private:
  void add(std::int64_t value) { m_sum = (m_sum ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u; }
  void text(const std::string& t) {
    for (char c : t) add(c);
  }
  void row(const LedgerRow& r) {
    add(r.token.value()), add(static_cast<int>(r.state)), add(r.pinned), add(static_cast<int>(r.brightness));
    add(r.changed.value());
    for (LedgerId id : r.parents) add(id.value());
    for (LedgerId id : r.children) add(id.value());
  }
  std::uint64_t m_sum = 1;
  bool m_sound = true;
};

struct ReaderFindings {
  std::atomic<int> read{0}, changed{0}, unsound{0}, backwards{0};
};

void readSnapshots(Mailbox& mailbox, ReaderFindings& findings) {
  std::deque<std::pair<SnapshotPtr, std::uint64_t>> kept;
  std::uint64_t serial = 0;
  while (SnapshotPtr snapshot = mailbox.take()) {
    Walk walk;
    const std::uint64_t sum = walk.over(*snapshot);
    ++findings.read;
    if (!walk.sound()) ++findings.unsound;
    if (snapshot->serial <= serial) ++findings.backwards;
    serial = snapshot->serial;
    kept.emplace_back(std::move(snapshot), sum);
    if (kept.size() < 12) continue;
    if (Walk().over(*kept.front().first) != kept.front().second) ++findings.changed;
    kept.pop_front();
  }
  for (const auto& [snapshot, sum] : kept)
    if (Walk().over(*snapshot) != sum) ++findings.changed;
}

void everyKindOfWork(Session& session, int rounds) {
  call(session, "promptIds", {{"ids", someIds(40, 200, 3)}});
  for (int round = 0; round < rounds; ++round) {
    call(session, "step", {{"n", 4}});
    call(session, "inject",
         {{"actions",
           {{{"action", "replace_pair"}, {"original_pos1", 4}, {"original_pos2", 9}, {"new_token_ids", {7}}},
            {{"action", "insert"}, {"position", 12}, {"token_ids", {9, 10}}},
            {{"action", "replace"}, {"positions", {20, 21, 22}}, {"new_token_ids", {5}}}}}});
    call(session, "step");
    const LedgerId id = session.state().context[static_cast<std::size_t>(15 + round)];
    call(session, "pin", {{"ledger", id.value()}});
    call(session, "setBrightness", {{"ledger", id.value()}, {"value", round}});
    call(session, "evict",
         {{"layer", round % session.cacheLayers().count()},
          {"ledger", {session.state().context[2].value()}},
          {"now", true}});
    call(session, "undo");
    call(session, "undo");
    if (round % 3) call(session, "redo");
    call(session, "pin", {{"ledger", id.value()}, {"on", false}});
    if (round % 4 == 3) call(session, "rebuild");
    call(session, "invariants");
    call(session, "drift");
  }
  call(session, "reset");
  call(session, "promptIds", {{"ids", someIds(300, 200, 4)}});  // the ledger's second chunk
  call(session, "step", {{"n", 3}});
}

}  // namespace

class SnapshotThreadsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void readersKeepWhatTheyHold_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::newRow("indirection") << QByteArray(R"({"threads":2,"capacity":400})");
    QTest::newRow("contiguous_splice") << QByteArray(
        R"({"threads":2,"capacity":400,"layout":"contiguous_splice","after_edit":"recompute"})");
    QTest::newRow("no kept rows") << QByteArray(
        R"({"capacity":400,"history_bytes":0,"position":"cache","executor":"descending"})");
  }
  void readersKeepWhatTheyHold() {
    QFETCH(QByteArray, manifest);
    const std::unique_ptr<Session> session = opened(tinyManifest(json::parse(manifest.toStdString())));
    Mailbox first, second;
    ReaderFindings findings;
    session->setPublish([&](SnapshotPtr snapshot) { first.put(snapshot), second.put(std::move(snapshot)); });
    std::thread one([&] { readSnapshots(first, findings); }), two([&] { readSnapshots(second, findings); });
    std::thread engine([&] { everyKindOfWork(*session, 8); });
    engine.join();
    first.close(), second.close();
    one.join(), two.join();
    session->setPublish({});
    QVERIFY2(findings.read > 20, "hardly anything was read");
    QCOMPARE(findings.unsound.load(), 0);
    QCOMPARE(findings.backwards.load(), 0);
    QCOMPARE(findings.changed.load(), 0);
    QCOMPARE(broken(*session), QString());
  }

  void cancellingFromAnotherThread() {
    const std::unique_ptr<Session> session = opened(tinyManifest(json{{"capacity", 4000}}));
    call(*session, "promptIds", {{"ids", someIds(20, 200, 3)}});
    std::atomic<bool> ended{false}, published{false}, stop{false};
    // After its first tick the engine waits here for the other thread's word: the run ends by it and by nothing else.
    session->setProgress([&](const std::string&, std::int64_t, std::int64_t) {
      while (published && !stop) std::this_thread::yield();
      return !stop;
    });
    session->setPublish([&](SnapshotPtr) { published = true; });
    RunOutcome ran;
    std::thread engine([&] { ran = run(*session, 3000, 4), ended = true; });
    while (!published && !ended) std::this_thread::yield();
    stop = true;
    engine.join();
    session->setPublish({}), session->setProgress({});
    QCOMPARE(ran.stoppedBy, std::string("cancelled"));
    QCOMPARE(ran.count, std::int64_t{1});
    QCOMPARE(session->state().length(), std::int64_t{21});
    QCOMPARE(broken(*session), QString());
  }
};

KV_TEST(SnapshotThreadsTest)
#include "snapshot_threads_test.moc"
