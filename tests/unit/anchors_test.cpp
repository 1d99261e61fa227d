// SPDX-License-Identifier: Apache-2.0
// A session of 2 000 ticks whose history has dropped its states goes to any of them with few commits, and the copies of
// states that make this possible stay within their part of history_bytes.
#include <map>

#include "core/session/look_back.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

class AnchorsTest : public QObject {
  Q_OBJECT
 private:
  /// Commits that were executed again: history keeps their states, and no other.
  static int executed(const SessionFixture& s) {
    int id = s->timeline().currentId(), made = 0;
    for (; s->timeline().entry(id).parent >= 0; id = s->timeline().entry(id).parent)
      if (s->timeline().entry(s->timeline().entry(id).parent).kept) ++made;
    return made;
  }

 private Q_SLOTS:
  void goesAnywhereWithFewCommits_data() {
    QTest::addColumn<QString>("manifest");
    QTest::addColumn<int>("commits");  // executed again, at most
    QTest::newRow("culled") << R"({"brightness":{"compressor":"nearest","target":48}})" << 600;
    QTest::newRow("ring") << R"({"layout":"ring_fused","ring":{"window":48},"capacity":0})" << 600;
    QTest::newRow("little memory") << R"({"brightness":{"compressor":"nearest","target":48},"history_bytes":2097152})"
                                   << 1100;  // room for few anchors
  }
  void goesAnywhereWithFewCommits() {
    QFETCH(QString, manifest);
    QFETCH(int, commits);
    SessionFixture s(json::parse(manifest.toStdString()));
    std::vector<std::string> hashes;
    const auto ticks = [&](int count) {
      for (int i = 0; i < count; ++i) {
        s.must("run", {{"maxTicks", 1}});
        hashes.push_back(s.hash());
      }
    };
    s.prompt(20);
    const int first = s->timeline().currentId() + 1;
    ticks(900);
    s.must("inject",
           {{"actions", {{{"action", "replace"}, {"positions", {5}}, {"new_token_ids", {77}}}}}, {"now", true}});
    hashes.push_back(s.hash());
    ticks(1100);
    QCOMPARE(s->timeline().size(), first + static_cast<int>(hashes.size()));
    QVERIFY(s->timeline().anchorBytes() > 0);
    QVERIFY(s->timeline().anchorBytes() <= s->manifest().historyBytes / 2);
    std::mt19937 random(4);
    int all = 0;
    for (int i = 0; i < 12; ++i) {
      const auto at = static_cast<std::size_t>(random() % hashes.size());
      s->history().forgetOlder(s->parts(), true);
      const Status gone = s->travel(first + static_cast<int>(at));
      QVERIFY2(gone, gone ? "" : gone.error().text().c_str());
      QCOMPARE(s.hash(), hashes[at]);
      const int made = executed(s);
      QVERIFY2((all += made, made <= commits), qPrintable(QString("%1 commits to entry %2").arg(made).arg(at)));
      QVERIFY(s.sound());
    }
    QVERIFY(all > 0);
  }

  /// A run of many ticks is one command; the rest of it is executed from an anchor inside it.
  void resumesInsideARun() {
    SessionFixture s(json{{"brightness", {{"compressor", "nearest"}, {"target", 48}}}});
    s.prompt(20);
    s.must("run", {{"maxTicks", 1200}});
    const std::string tip = s.hash();
    const int last = s->timeline().currentId();
    QVERIFY(s->timeline().anchored(last) > 0);
    s.must("undo", {{"n", 3}});
    const std::string before = s.hash();
    s->history().forgetOlder(s->parts(), true);
    QVERIFY(s->travel(700));
    QVERIFY(s->travel(last - 3));
    QCOMPARE(s.hash(), before);
    QVERIFY(s->travel(last));
    QCOMPARE(s.hash(), tip);
  }

  /// A file that is gone refuses the journey across it, and the session stays as it was.
  void aJourneyThatFailsChangesNothing() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("rows.kvc").toStdString();
    SessionFixture s;
    s->history().anchorEvery(8);
    s.prompt(12);
    s.must("step", {{"n", 4}});
    s.must("saveCache", {{"path", path}});
    s.must("step", {{"n", 2}});
    s.must("loadCache", {{"path", path}});
    s.must("step", {{"n", 1}});
    const int afterLoad = s->timeline().currentId();
    s.must("step", {{"n", 20}});
    s->history().forgetOlder(s->parts(), true);
    const std::string here = s.hash();
    const int tip = s->timeline().currentId(), kept = s->timeline().anchored(afterLoad);
    QVERIFY(kept >= 0 && s->timeline().entry(kept).verb != "loadCache");
    QVERIFY(QFile::remove(QString::fromStdString(path)));
    const Status gone = s->travel(afterLoad);
    QVERIFY(!gone);
    QCOMPARE(s->timeline().currentId(), tip);
    QCOMPARE(s.hash(), here);
    QVERIFY(s.sound());
    QVERIFY(s->travel(kept));  // from here on the way leads forward
    const std::string before = s.hash();
    QVERIFY(!s->travel(afterLoad));
    QCOMPARE(s->timeline().currentId(), kept);
    QCOMPARE(s.hash(), before);
    QVERIFY(s.sound());
    s.must("step");
    QVERIFY(s.sound());
  }

  /// More states are kept than are copied when the session leaves them; from a branch, too. Everything can be reached.
  void manyKeptStatesAreLeft() {
    SessionFixture s(json{{"brightness", {{"compressor", "nearest"}, {"target", 24}}}, {"history_bytes", 26 << 20}});
    s.prompt(12);
    std::map<std::int64_t, std::string> hashes;
    const auto go = [&](std::int64_t tick) {
      s.must("goto", {{"tick", tick}});
      QCOMPARE(s.hash(), hashes.at(tick));
    };
    const auto run = [&](std::int64_t ticks) {  // an end of text ends a run
      for (const std::int64_t end = s->state().tick.value() + ticks; s->state().tick.value() < end;) {
        s.must("run", {{"maxTicks", 500}, {"reports", 1}});
        hashes[s->state().tick.value()] = s.hash();
      }
    };
    const auto near = [&](double share) {  // a tick with a known hash
      const double first = static_cast<double>(hashes.begin()->first),
                   last = static_cast<double>(hashes.rbegin()->first);
      return hashes.lower_bound(static_cast<std::int64_t>(first + share * (last - first)))->first;
    };
    const auto kept = [&] {
      int count = 0;
      for (int id = 0; id < s->timeline().size(); ++id) count += s->timeline().entry(id).kept != nullptr;
      return count;
    };
    hashes[s->state().tick.value()] = s.hash();
    run(5000);
    const std::int64_t early = near(0.1), last = hashes.rbegin()->first;
    QVERIFY2(kept() > 2100 && kept() < 4400, qPrintable(QString::number(kept())));
    QVERIFY(!s->timeline().entry(s->timeline().find(Tick(early))).kept);
    // A journey that is broken off leaves the newest states of the way, and the session where it was.
    s.must("undo", {{"n", 40}});
    s.must("step", {{"n", 3}});  // kept states lie beside the way now
    const std::string here = s.hash();
    s->setProgress([](const std::string&, std::int64_t, std::int64_t) { return false; });
    QVERIFY(!s.verb("goto", {{"tick", early}}));
    s->setProgress({});
    QCOMPARE(s.hash(), here);
    QCOMPARE(kept(), 2048);
    QVERIFY(s.sound());
    s.must("undo", {{"n", 3}});
    s.must("goto", {{"tick", last}, {"branch", "main"}});
    QCOMPARE(s.hash(), hashes.at(last));
    go(early);
    const std::vector<std::int64_t> others = {last, near(0.3), near(0.9)};
    for (const std::int64_t tick : others) go(tick);
    s.must("run", {{"maxTicks", 100}});  // a branch
    s.must("goto", {{"tick", last}, {"branch", "main"}});
    QCOMPARE(s.hash(), hashes.at(last));
    QVERIFY(s.sound());
  }
};

KV_TEST(AnchorsTest)
#include "anchors_test.moc"
