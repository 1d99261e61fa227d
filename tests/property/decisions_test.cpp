// SPDX-License-Identifier: Apache-2.0
// The decisions that are told equal the decisions that were made: for random sessions of every policy, each tick, layer
// and KV head, the rows told as kept are those that the layer has behind the tick, and the rows told as dropped are
// those that it had before and lost to its policy. Ranks and thresholds are counted again from the scores.
#include <QTemporaryDir>
#include <map>
#include <set>

#include "core/session/decisions.h"
#include "core/session/row_story.h"
#include "support/commits.h"
#include "support/gate_file.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

using Rows = std::set<LedgerId>;
using EntryLayer = std::pair<int, CacheLayer>;  // entry, layer

/// A session that notes the rows of every layer behind every commit, and the rows that the test itself evicts.
struct Observed {
  SessionFixture s;
  std::map<EntryLayer, Rows> there;
  std::map<int, Rows> context;
  Rows byHand;

  explicit Observed(const json& manifest) : s(manifest) {
    s->setPublish([this](const SnapshotPtr&) { look(); });
    look();
  }
  void look() {
    if (s->history().replaying()) return;
    const int entry = s->timeline().currentId();
    context[entry] = Rows(s->state().context.begin(), s->state().context.end());
    for (const CacheLayer layer : s->state().layers()) {
      const ResidencyView& map = s->state().map(layer);
      there[{entry, layer}] = Rows(map.ledger.begin() + map.first, map.ledger.end());
    }
  }
};

void act(Observed& o, std::mt19937& random) {
  SessionFixture& s = o.s;
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(std::max(1, below))); };
  const auto now = [&](json action) { (void)s.verb("inject", {{"actions", {action}}, {"now", true}}); };
  const int length = s->state().length();
  const auto ids = [&](int n) { return SessionFixture::ids(n, static_cast<unsigned>(random())); };
  switch (pick(12)) {
    case 0: return now({{"action", "replace"}, {"positions", {pick(length)}}, {"new_token_ids", {3 + pick(250)}}});
    case 1: return now({{"action", "delete"}, {"position", pick(length)}});
    case 2: return now({{"action", "insert"}, {"position", pick(length)}, {"token_ids", {3 + pick(250)}}});
    case 3: {
      const ResidencyView& map = s->state().map(CacheLayer(0));
      const LedgerId row = map.ledger[static_cast<std::size_t>(map.first + pick(static_cast<int>(map.resident())))];
      o.byHand.insert(row);
      return (void)s.verb("evict", {{"layer", 0}, {"ledger", {row.value()}}, {"now", true}});
    }
    case 4:
      return (void)s.verb("pin", {{"ledger", s->state().context[static_cast<std::size_t>(pick(length))].value()}});
    case 5: return (void)s.verb("promptIds", {{"ids", ids(1 + pick(8))}});
    case 6:
      (void)s.verb("prefill", {{"ids", ids(1 + pick(6))}, {"last", false}});
      return (void)s.verb("prefill", {{"ids", ids(1 + pick(6))}});
    case 7: return (void)s.verb("rebuild");
    default: (void)s.verb("step", {{"n", 1 + pick(3)}});
  }
}

/// What was told about one layer in one commit.
struct Told {
  Rows computed, kept, dropped;
  std::vector<RowDecision> ranked;
};

std::string text(const Rows& rows) {
  std::string out;
  for (const LedgerId row : rows) out += std::to_string(row.value()) + " ";
  return out;
}

}  // namespace

class DecisionsTest : public QObject {
  Q_OBJECT
  QTemporaryDir m_dir;
  int m_choices = 0, m_dropped = 0, m_atPromptEnd = 0, m_byThreshold = 0;

  json specOf(const QString& policy) {
    json spec{{"name", policy.toStdString()}, {"capacity", 18}, {"sinks", 2}, {"window", 5}};
    if (policy == "smartkv") spec["gates"] = gatesFile();
    if (policy == "oracle") {
      const std::string file = m_dir.filePath("record").toStdString();
      SessionFixture full;
      full.prompt(60);
      full.must("recordLifespans", {{"path", file}});
      spec["record"] = file;
    }
    return spec;
  }

  static void countedAgain(const Told& told) {
    float lowest = NAN;
    std::int32_t stayed = 0;
    const auto scoreOf = [](const RowDecision& one) { return std::isnan(one.score) ? -INFINITY : one.score; };
    for (std::size_t i = 0; i < told.ranked.size(); ++i) {
      const RowDecision& one = told.ranked[i];
      std::int32_t better = 0;
      for (std::size_t k = 0; k < told.ranked.size(); ++k)
        better += k < i ? scoreOf(told.ranked[k]) >= scoreOf(one) : scoreOf(told.ranked[k]) > scoreOf(one);
      QCOMPARE(one.rank, better + 1);
      QCOMPARE(one.of, static_cast<std::int32_t>(told.ranked.size()));
      if (one.verdict != Verdict::Kept) continue;
      ++stayed;
      if (!(lowest <= scoreOf(one))) lowest = scoreOf(one);
    }
    for (const RowDecision& one : told.ranked) {
      QCOMPARE(one.stayed, stayed);
      if (stayed > 0 && std::isfinite(lowest)) QCOMPARE(one.threshold, lowest);
      if (one.ground == Ground::Rank) QCOMPARE(one.verdict == Verdict::Kept, one.rank <= stayed);
      if (one.verdict == Verdict::Dropped && stayed > 0) QVERIFY(one.replacedBy.value() >= 0);
    }
  }

  void asMade(const Observed& o, const EntryLayer& place, const Told& told) {
    const Timeline& line = o.s->timeline();
    const auto before = o.there.find({line.entry(place.first).parent, place.second}), now = o.there.find(place);
    if (before == o.there.end() || now == o.there.end()) return;  // between two commits of one verb nobody looked
    Rows had = before->second, lost;
    had.insert(told.computed.begin(), told.computed.end());
    const Rows& context = o.context.at(place.first);
    for (const LedgerId row : had)
      if (!now->second.contains(row) && context.contains(row) && !o.byHand.contains(row)) lost.insert(row);
    Rows dropped;
    for (const LedgerId row : told.dropped)
      if (!o.byHand.contains(row)) dropped.insert(row);
    const std::string where = "entry " + std::to_string(place.first) + " " + line.entry(place.first).verb + ", layer " +
        std::to_string(place.second.value()) + ": told " + text(dropped) + "; made " + text(lost);
    QVERIFY2(dropped == lost, where.c_str());
    for (const LedgerId row : now->second) QVERIFY2(had.contains(row), where.c_str());
    if (!told.kept.empty() || !told.dropped.empty())
      QVERIFY2(told.kept == now->second, (where + text(told.kept) + "; " + text(now->second)).c_str());
    m_choices += !told.kept.empty();
    m_dropped += static_cast<int>(dropped.size());
  }

  void session(const json& spec, bool byHead, unsigned seed) {
    json manifest{{"policy", spec}};
    if (byHead) manifest["residency"] = "kv_head";
    std::mt19937 random(seed);
    Observed o(manifest);
    o.s->history().anchorEvery(24);
    o.s.prompt(30, seed);
    for (int i = 0; i < 14; ++i) act(o, random);
    if (seed % 2) o.s->history().forgetOlder(o.s->parts(), true);
    std::map<EntryLayer, Told> told;
    for (int i = 1; i < o.s->timeline().size(); ++i)
      for (const CacheLayer layer : o.s->state().layers()) told[{i, layer}];
    std::set<Tick> ticks;
    for (const int id : o.s->timeline().path(o.s->timeline().currentId())) ticks.insert(o.s->timeline().entry(id).tick);
    for (const Tick tick : ticks) {
      const Status asked = decisions(*o.s, {.tick = tick}, [&](const RowDecision& one) {
        Told& to = told[{one.entry, one.layer}];
        (one.verdict == Verdict::Computed   ? to.computed
             : one.verdict == Verdict::Kept ? to.kept
                                            : to.dropped)
            .insert(one.row);
        if (one.rank > 0) to.ranked.push_back(one);
        m_atPromptEnd += one.verdict == Verdict::Dropped && one.atPromptEnd;
        m_byThreshold += one.ground == Ground::Threshold;
        return true;
      });
      QVERIFY2(asked, asked ? "" : asked.error().text().c_str());
    }
    for (const auto& [place, one] : told) {
      asMade(o, place, one);
      countedAgain(one);
      if (QTest::currentTestFailed()) return qWarning("seed %u", seed);
    }
  }

 private Q_SLOTS:
  void toldAsMade_data() {
    QTest::addColumn<QString>("policy");
    QTest::addColumn<bool>("byHead");
    for (const PolicyName& one : policies())
      for (const bool byHead : {false, true})
        if (one.name != "full" && (byHead || one.name != "adakv"))
          QTest::addRow("%s%s", one.name.data(), byHead ? " by head" : "")
              << QString::fromUtf8(one.name.data()) << byHead;
  }
  void toldAsMade() {
    QFETCH(QString, policy);
    QFETCH(bool, byHead);
    const int sessions = std::max(2, qEnvironmentVariableIntValue("KVLAB_DECISION_SESSIONS"));
    for (int n = 0; n < sessions && !QTest::currentTestFailed(); ++n) {
      json spec = specOf(policy);
      if (policy == "h2o" && n % 2) spec.update({{"threshold", 1.5}, {"capacity", 30}});
      else if (n % 2) spec["interval"] = 3;
      session(spec, byHead, static_cast<unsigned>(31 * n + policy.size()));
    }
  }

  /// One row's life: computed and dropped by the end of the prompt in most layers, told by the tables.
  void aRowThatLeftSaysWhereAndWhen() {
    SessionFixture s(json{{"policy", "h2o:ratio=0.25,window=4"}});
    s.prompt(60);
    int left = 0;
    for (const LedgerId row : s->state().context) {
      const json life = s.must("decisions", {{"ledger", row.value()}}),
                 history = s.must("history", {{"ledger", row.value()}});
      for (const CacheLayer layer : s->state().layers()) {
        const ResidencyView& map = s->state().map(layer);
        if (std::ranges::find(map.ledger, row) != map.ledger.end()) continue;
        ++left;
        const auto about = [&](const json& list, const char* event) {
          return std::ranges::find_if(
              list, [&](const json& one) { return one["layer"] == layer.value() && one["event"] == event; });
        };
        const auto dropped = about(life, "dropped"), gone = about(history, "left_layer");
        QVERIFY(about(life, "computed") != life.end() && dropped != life.end() && gone != history.end());
        QCOMPARE((*dropped)["when"], "prompt");
        QCOMPARE((*dropped)["policy"], "h2o");
        QCOMPARE((*dropped)["parameters"]["ratio"], 0.25);
        QVERIFY((*dropped)["score"] <= (*dropped)["threshold"] && (*dropped)["rank"] > (*dropped)["stayed"]);
        QCOMPARE((*gone)["detail"], (*dropped)["detail"]);
        const Result<std::vector<RowChapter>> story = rowStory(*s, layer, row);
        QVERIFY(story && story->size() == 2 && story->back().event == RowEvent::Left);
        QVERIFY(story->back().detail.starts_with("evicted by h2o at the end of the prompt: score "));
      }
    }
    QVERIFY(left > 30);
  }

  void cleanupTestCase() {
    QVERIFY(m_choices > 500);
    QVERIFY(m_dropped > 2000);
    QVERIFY(m_atPromptEnd > 1000);
    QVERIFY(m_byThreshold > 10);
    qInfo("%d choices, %d rows dropped, %d at the end of a prompt, %d by a threshold", m_choices, m_dropped,
          m_atPromptEnd, m_byThreshold);
  }
};

KV_TEST(DecisionsTest)
#include "decisions_test.moc"
