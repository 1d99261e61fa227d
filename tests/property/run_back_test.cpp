// SPDX-License-Identifier: Apache-2.0
// Running back finds the commit that a look at every commit finds: random sessions over layouts, policies and wLOD,
// with all, some and no states kept, with and without anchors.
#include <map>
#include <set>

#include "core/session/look_back.h"
#include "support/commits.h"
#include "support/conditions.h"
#include "support/runner.h"

using namespace kvlab;

class RunBackTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void equalsALookAtEveryCommit_data() {
    QTest::addColumn<int>("manifest");
    QTest::addColumn<int>("group");
    for (int i = 0; i < static_cast<int>(historyManifests().size()); ++i)
      for (int group = 0; group < static_cast<int>(kConditions.size()); ++group)
        QTest::addRow("%s %s", kConditions[at(group)].first, historyManifests()[at(i)].dump().c_str()) << i << group;
  }
  void equalsALookAtEveryCommit() {
    QFETCH(int, manifest);
    QFETCH(int, group);
    const int sessions = qEnvironmentVariableIntValue("KVLAB_RUN_BACK_SESSIONS");
    for (int n = 0; n < std::max(sessions, test::kSanitized ? 1 : 2); ++n) {
      const auto seed = static_cast<unsigned>(100 * manifest + n);
      oneSession(historyManifests()[at(manifest)], seed, kConditions[at(group)].second);
      if (QTest::currentTestFailed()) return qWarning("seed %u", seed);
    }
  }
  void cleanupTestCase() {
    if (test::kSanitized) return;  // one session of each kind does not meet every condition
    for (const auto& [group, conditions] : kConditions)
      for (const std::string text : conditions) QVERIFY2(text == kNeverHolds || m_found[text] > 0, text.c_str());
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::map<std::string, int> m_found;

  void oneSession(const json& manifest, unsigned seed, const std::vector<const char*>& asked) {
    Recorded r(manifest, seed, asked);
    SessionFixture& s = r.s;
    for (int i = 0; i < 26; ++i) randomCommit(s, r.random);
    if (seed % 3 == 1) s->history().forgetOlder(s->parts(), true);
    const int tip = s->timeline().currentId();
    std::vector<int> expected;
    for (std::size_t i = 0; i < r.conditions.size(); ++i) {
      const auto later = r.held[i].lower_bound(tip);
      expected.push_back(later == r.held[i].begin() ? -1 : *std::prev(later));
      if (r.conditions[i].needs(Need::Slots) && expected[i] <= r.grown) continue;  // growing gives rows other slots
      const Result<Held> last = lastHeld(*s, std::span(&r.conditions[i], 1));
      if (!last) qWarning("%s: %s", r.texts[i], last.error().text().c_str());
      const QString text =
          QString("%1: found %2, held at %3").arg(r.texts[i]).arg(last ? last->entry : -2).arg(expected[i]);
      if (!last || last->entry != expected[i]) QTest::qFail(qPrintable(text), __FILE__, __LINE__);
      const int begin = r.held[i].empty() ? -1 : *r.held[i].begin();
      if (r.conditions[i].needs(Need::Slots) && begin <= r.grown && begin >= 0) continue;
      json looked = json::array();
      for (const int entry : s->timeline().path(tip))
        if (r.held[i].count(entry)) looked.push_back(entry);
      const auto told = [&](const json& of, int limit) {
        json call = tableArgs("ticks", of, {"entry"});
        call.update({{"where", r.texts[i]}, {"limit", limit}});
        const Result<json> answer = execute(*s, "table", call);
        return answer ? cellsIn(*answer, "entry") : json(answer.error().text());
      };
      json first = json::array(), newest = json::array();
      if (!looked.empty()) first.push_back(looked.front());
      for (auto entry = looked.rbegin(); entry != looked.rend() && newest.size() < 3; ++entry) newest.push_back(*entry);
      const json all = told(json::object(), 1000);
      if (all != looked || told(json::object(), 1) != first || told({{"newest", true}}, 3) != newest)
        QTest::qFail(qPrintable(QString("%1: found %2").arg(r.texts[i], all.dump().c_str())), __FILE__, __LINE__);
    }
    for (std::size_t i = 0; i < r.conditions.size() && !QTest::currentTestFailed(); ++i) {
      if (expected[i] < 0) continue;
      ++m_found[r.texts[i]];
      if (!r.conditions[i].needs(Need::Slots)) goAndComeBack(r, i, expected[i]);  // a journey may change slots
    }
  }

  /// There the state has the recorded hash, and the way on is still there.
  void goAndComeBack(Recorded& r, std::size_t condition, int expected) {
    SessionFixture& s = r.s;
    const int tip = s->timeline().currentId();
    const std::string branch = s->timeline().branch();
    const Result<Held> there = runBack(*s, std::span(&r.conditions[condition], 1));
    QVERIFY(there && there->entry == expected);
    QCOMPARE(there->by, &r.conditions[condition]);
    QCOMPARE(s->timeline().currentId(), expected);
    QVERIFY2(s.hash() == r.hashes.at(expected), r.texts[condition]);
    QCOMPARE(s->timeline().tip(), tip);
    QCOMPARE(s->timeline().branch(), branch);
    QVERIFY(s->travel(tip));
    QVERIFY2(s.hash() == r.hashes.at(tip), r.texts[condition]);
    QVERIFY(s.sound());
  }
};

KV_TEST(RunBackTest)
#include "run_back_test.moc"
