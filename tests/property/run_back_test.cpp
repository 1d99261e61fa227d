// SPDX-License-Identifier: Apache-2.0
// Running back finds the commit that a look at every commit finds: random sessions over layouts, policies and wLOD, with
// all, some and no states kept, with and without anchors.
#include "core/session/observe.h"
#include "core/session/run_back.h"
#include "support/commits.h"

using namespace kvlab;

namespace {

const std::vector<const char*> kConditions = {
    "evicted", "evicted(layer==1)", "moved", "written(slot==5, layer==0)", "written(ledger==7)", "replaced", "deleted",
    "changed(rows(layer==0))", "length % 7 == 0", "rows(layer==1) > before(rows(layer==1)) + 1", "wrap", "token > 128",
    "actions > 0 and not evicted", "brightness(ledger==3) > 30", "phase(ledger==6) != position(ledger==6)",
    "changed(slot(ledger==4))", "length > 1000"};
const std::vector<const char*> kMeasured = {"kl > 0.02", "stale", "exactness(ledger==5) != 'exact'",
                                            "read(layer==0, ledger==2) > 0.05"};

const std::vector<json> kManifests = {
    json::object(),
    {{"layout", "contiguous_splice"}},
    {{"layout", "paged:block=4"}, {"kv", {{"k", "int8"}, {"v", "int8"}}}},
    {{"layout", "ring_fused"}, {"ring", {{"window", 12}}}},
    {{"layout", "ring_prefix"}, {"ring", {{"window", 12}}}},
    {{"policy", "h2o:ratio=0.5,window=4"}},
    {{"policy", "streaming_llm:sinks=2,capacity=14"}, {"layout", "paged:block=4"}},
    {{"sampling", {{"temperature", 0.9}, {"seed", 3}}}, {"after_edit", "recompute"}},
    {{"capacity", 0}, {"wlod", {{"budget", 160}, {"moments", 512}}}},
    {{"policy", "snapkv:ratio=0.6,window=4"}, {"residency", "kv_head"}},
};

/// A session, the hash of every entry, and the entries at which each condition held when they were made.
struct Recorded {
  SessionFixture s;
  std::mt19937 random;
  std::vector<const char*> texts;
  std::vector<Expression> conditions;
  std::map<int, std::string> hashes;
  std::vector<std::set<int>> held;  // [conditions] entries
  std::optional<CacheState> before;
  std::optional<std::vector<Exactness>> exactBefore;

  Recorded(json manifest, unsigned seed, const std::vector<const char*>& asked) : s(manifest), random(seed) {
    for (const char* text : asked)
      if (Result<Expression> read = readExpression(*s, text, true)) {
        conditions.push_back(read.take());
        texts.push_back(text);
      }
    held.resize(conditions.size());
    s->setPublish({});
    s->history().anchorEvery(24);
    keepAttention(*s);
    see();
    s.prompt(12, seed);
  }

  bool needs(Need need) const {
    return std::ranges::any_of(conditions, [need](const Expression& one) { return one.needs(need); });
  }

  /// Asks all conditions of the commit that made the present entry.
  void see() {
    const int entry = s->timeline().currentId();
    if (!hashes.emplace(entry, s.hash()).second) return;
    Sight at;
    at.now = observeNow(*s, [this](Need need) { return needs(need); });
    if (before) {
      at.before.state = &*before;
      at.before.exactness = exactBefore;
      at.report = s->timeline().entry(entry).report.get();
      for (std::size_t i = 0; i < conditions.size(); ++i)
        if (conditions[i].holds(at)) held[i].insert(entry);
    }
    exactBefore = at.now.exactness;
    before = s->state();
  }
};

}  // namespace

class RunBackTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void equalsALookAtEveryCommit_data() {
    QTest::addColumn<int>("manifest");
    QTest::addColumn<bool>("measured");
    for (int i = 0; i < static_cast<int>(kManifests.size()); ++i)
      for (const bool measured : {false, true})
        QTest::addRow("%d%s %s", i, measured ? " measured" : "", kManifests[at(i)].dump().c_str()) << i << measured;
  }
  void equalsALookAtEveryCommit() {
    QFETCH(int, manifest);
    QFETCH(bool, measured);
    const int sessions = qEnvironmentVariableIntValue("KVLAB_RUN_BACK_SESSIONS");
    int found = 0;
    for (int n = 0; n < std::max(sessions, measured ? 2 : 4); ++n) {
      const auto seed = static_cast<unsigned>(100 * manifest + n);
      found += oneSession(kManifests[at(manifest)], seed, measured ? kMeasured : kConditions);
      if (QTest::currentTestFailed()) return qWarning("seed %u", seed);
    }
    QVERIFY2(found > 0, "no condition ever held");
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  /// The number of conditions that were found.
  int oneSession(const json& manifest, unsigned seed, const std::vector<const char*>& asked) {
    Recorded r(manifest, seed, asked);
    SessionFixture& s = r.s;
    // A commit is seen at once: calls that make several are split by what readers see between them.
    s->setBetweenTicks([&r] { r.see(); });
    r.see();
    for (int i = 0; i < 26; ++i) {
      randomCommit(s, r.random);
      r.see();
    }
    if (seed % 3 == 1) s->history().forgetOlder(s->parts(), true);
    int found = 0;
    const int tip = s->timeline().currentId();
    for (std::size_t i = 0; i < r.conditions.size(); ++i) {
      const auto later = r.held[i].lower_bound(tip);
      const int expected = later == r.held[i].begin() ? -1 : *std::prev(later);
      const Result<int> last = lastHeld(*s, r.conditions[i]);
      if (!last) qWarning("%s: %s", r.texts[i], last.error().text().c_str());
      if (!last || *last != expected)
        QTest::qFail(qPrintable(QString("%1: found %2, held at %3")
                                    .arg(r.texts[i])
                                    .arg(last ? *last : -2)
                                    .arg(expected)),
                     __FILE__, __LINE__);
      if (QTest::currentTestFailed()) return found;
      if (expected < 0) continue;
      ++found;
      goAndComeBack(r, i, expected);
      if (QTest::currentTestFailed()) return found;
    }
    return found;
  }

  /// There the state has the recorded hash, and the way on is still there.
  void goAndComeBack(Recorded& r, std::size_t condition, int expected) {
    SessionFixture& s = r.s;
    const int tip = s->timeline().currentId();
    const std::string branch = s->timeline().branch();
    const Result<int> there = runBack(*s, r.conditions[condition]);
    QVERIFY(there && *there == expected);
    QCOMPARE(s->timeline().currentId(), expected);
    QVERIFY2(s.hash() == r.hashes.at(expected), r.texts[condition]);
    QCOMPARE(s->timeline().tip(), tip);
    QCOMPARE(s->timeline().branch(), branch);
    QVERIFY(s->travel(tip));
    QVERIFY2(s.hash() == r.hashes.at(tip), r.texts[condition]);
    QVERIFY(s.sound());
  }
};

QTEST_GUILESS_MAIN(RunBackTest)
#include "run_back_test.moc"
