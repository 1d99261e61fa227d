// SPDX-License-Identifier: Apache-2.0
// All ways to evaluate an expression agree about a moment: value and watch behind the commit, at(t).value and
// ticksWhere later, and breakpoints; whatever was asked before.
#include <algorithm>
#include <map>

#include "support/commits.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

const std::vector<std::string> kOften = {"stale",
                                         "stale(ledger==9)",
                                         "changed(exactness(ledger==9))",
                                         "read(ledger==1) > 0.02",
                                         "read(ledger==1, layer==0) > 0.02",
                                         "kl > -1 and read(ledger==1) > 0.02",
                                         "deleted"};
const std::vector<std::string> kSeldom = {"kl > before(kl) + 0.001", "length / 0 > 1"};

using Answers = std::map<std::pair<std::string, std::int64_t>, json>;  // by condition and tick

json valueOf(const SessionFixture& s, const std::string& condition) {
  return s.must("value", {{"expression", condition}});
}

void editNow(const SessionFixture& s, const json& action) {
  (void)s.verb("inject", {{"actions", {action}}, {"now", true}});
}

/// Ticks and edits of rows that are there; between them all conditions are asked, in turn after other questions.
Answers answersOf(const SessionFixture& s, const std::vector<std::string>& conditions, bool others) {
  Answers out;
  for (int i = 0; i < 8; ++i) {
    if (i == 2) editNow(s, {{"action", "replace"}, {"positions", {7}}, {"new_token_ids", {33}}});
    else if (i == 5) editNow(s, {{"action", "delete"}, {"position", 6}});
    else s.must("step");
    if (others) {
      (void)s.verb("topk", {{"k", 2}});
      (void)s.verb("value", {{"expression", "kl"}});
      (void)s.verb("attention", {{"layer", 0}});
    }
    const Timeline& line = s->timeline();
    if (!line.entry(line.current().parent).kept) continue;  // facts of the tick are not known then
    for (const std::string& one : conditions) out[{one, s->state().tick.value()}] = valueOf(s, one);
  }
  return out;
}

}  // namespace

class OneMomentTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void allSayTheSame_data() {
    QTest::addColumn<int>("manifest");
    for (int i = 0; i < static_cast<int>(historyManifests().size()); ++i)
      QTest::addRow("%s", historyManifests()[static_cast<std::size_t>(i)].dump().c_str()) << i;
  }
  void allSayTheSame() {
    QFETCH(int, manifest);
    const json& keys = historyManifests()[static_cast<std::size_t>(manifest)];
    const bool keepsAll = !keys.contains("layout") && !keys.contains("wlod");
    std::vector<std::string> conditions = kOften;
    conditions.insert(conditions.end(), kSeldom.begin(), kSeldom.end());
    SessionFixture quiet(keys), curious(keys);
    quiet.prompt(12);
    curious.prompt(12);
    const Answers said = answersOf(quiet, conditions, false);
    QVERIFY(answersOf(curious, conditions, true) == said);
    for (const std::string& one : conditions) {
      const json where = quiet.must("ticksWhere", {{"condition", one}});
      for (const auto& [moment, answer] : said) {
        if (moment.first != one) continue;
        const std::int64_t tick = moment.second;
        const std::string text = one + " at tick " + std::to_string(tick);
        QVERIFY2((std::ranges::find(where, json(tick)) != where.end()) == answer.get<bool>(), text.c_str());
        m_held[one] += answer.get<bool>();
        if (!keepsAll) continue;
        const json later = quiet.must("at", {{"tick", tick}, {"verb", "value"}, {"args", {{"expression", one}}}});
        QVERIFY2(later == answer, text.c_str());
      }
    }
  }

  /// Watches make the measurements that they need, too.
  void watchesSayWhatTheValueIs() {
    SessionFixture s;
    s.prompt(12);
    s.must("step");
    for (const std::string& one : kOften) s.must("watch", {{"expression", one}});
    s.must("watch", {{"expression", "read(ledger==1, layer==0)"}});
    for (int i = 0; i < 6; ++i) {
      if (i == 2) editNow(s, {{"action", "delete"}, {"position", 6}});
      else s.must("step");
      for (const json& watch : s.must("watches")) QCOMPARE(watch["value"], valueOf(s, watch["expression"]));
    }
  }

  /// An edit without a pass reads nothing, and a pass that refreshes the logits for a question is not the edit's.
  void questionsAreNoReads() {
    SessionFixture s;
    s.prompt(12);
    s.must("step");
    QVERIFY(valueOf(s, "read(ledger==0)").is_number());
    editNow(s, {{"action", "delete"}, {"position", 6}});
    QCOMPARE(valueOf(s, "read(ledger==0)"), json());
    s.must("topk", {{"k", 1}});
    s.must("value", {{"expression", "kl"}});
    QCOMPARE(valueOf(s, "read(ledger==0)"), json());
    QCOMPARE(valueOf(s, "read(ledger==0, layer==0)"), json());
    QVERIFY(!s->state().logitsStale);
    s.must("undo");
    QVERIFY(valueOf(s, "read(ledger==0)").is_number());
    s.must("redo");
    QCOMPARE(valueOf(s, "read(ledger==0)"), json());
  }

  /// The same mass as attention, reads and a breakpoint have, directly behind the tick.
  void everyLayerIsRead() {
    SessionFixture s;
    s.prompt(12);
    s.must("step", {{"n", 3}});
    for (const int layer : {0, 1, 2}) {
      const std::string read = "read(ledger==1, layer==" + std::to_string(layer) + ")";
      const json mass = valueOf(s, read), reads = s.must("reads", {{"ledger", 1}, {"layer", layer}});
      QVERIFY2(mass.is_number() && mass > 0, read.c_str());
      QCOMPARE(reads.back()["tick"], json(s->state().tick.value()));
      QCOMPARE(reads.back()["mass"], mass);
    }
  }

  /// A breakpoint stops where a row becomes stale, and the value says so there.
  void breakpointsStopWhereItHolds() {
    SessionFixture s;
    s.prompt(12);
    s.must("step");
    s.must("break", {{"condition", "stale(ledger==9)"}});
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 6}}}}});
    const json run = s.must("step", {{"n", 3}});
    QCOMPARE(run.size(), std::size_t(1));
    QCOMPARE(valueOf(s, "stale(ledger==9)"), json(true));
    QCOMPARE(s.must("ticksWhere", {{"condition", "stale(ledger==9)"}}), json({s->state().tick.value()}));
    const json rows = s.must("rowsWhere", {{"condition", "stale"}});
    QVERIFY(std::ranges::find(rows, json(9)) != rows.end());
    s.must("clearBreaks");
    s.must("step");
    QCOMPARE(valueOf(s, "stale(ledger==9)"), json(false));
  }

  void cleanupTestCase() {
    for (const std::string& one : kOften) QVERIFY2(m_held[one] > 0, one.c_str());
    QCOMPARE(m_held["length / 0 > 1"], 0);
  }

 private:
  std::map<std::string, int> m_held;
};

KV_TEST(OneMomentTest)
#include "one_moment_test.moc"
