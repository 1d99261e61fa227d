// SPDX-License-Identifier: Apache-2.0
// Breakpoints hold at the ticks at which a look at every commit of a session without breakpoints finds their conditions
// true: random sessions over layouts, policies and wLOD, by step and by run, logged and stopped at.
#include "support/commits.h"
#include "support/conditions.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

/// The same session twice: one has breakpoints, of the other every commit is looked at.
struct Twins {
  Recorded seen;
  SessionFixture watched;
  std::size_t looked = 0;  // entries of `seen` at the start

  Twins(const json& manifest, const std::vector<const char*>& conditions, unsigned seed)
      : seen(manifest, seed, conditions), watched(manifest) {
    keepAttention(*watched);
    watched.prompt(12, seed);
    for (const char* text : seen.texts) watched.must("break", {{"condition", text}, {"log", true}});
  }

  /// Both make the same edit, or let it wait for the next tick.
  void edit(std::mt19937& random) {
    std::mt19937 again = random;
    anEdit(watched, random);
    anEdit(seen.s, again);
  }
  static void anEdit(SessionFixture& s, std::mt19937& random) {
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    const int length = s->state().length();
    json action{{"action", "delete"}, {"position", pick(length)}};
    if (pick(3) == 0)
      action = {{"action", "replace"}, {"positions", {pick(length)}}, {"new_token_ids", {3 + pick(250)}}};
    if (pick(3) == 0) action = {{"action", "insert"}, {"position", pick(length)}, {"token_ids", {3 + pick(250)}}};
    if (pick(4) == 0) {
      const ResidencyView& map = s->state().map(CacheLayer(1));
      action = {{"action", "evict"}, {"layer", 1}, {"ledger", {map.ledger[map.size() / 2].value()}}};
    }
    (void)s.verb("inject", {{"actions", {action}}});
    if (pick(3) == 0) (void)s.verb("setBrightness", {{"ledger", 3}, {"value", pick(60)}});
  }
  /// Ticks of steps and runs at which a condition held.
  std::vector<std::int64_t> ticksOf(std::size_t condition) {
    const Timeline& line = seen.s->timeline();
    std::vector<std::int64_t> out;
    for (const int entry : seen.held[condition])
      if (line.entry(line.commandOf(entry)).verb == "step") out.push_back(line.entry(entry).tick.value());
    return out;
  }
};

}  // namespace

class BreakpointsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void holdWhereALookFindsThem_data() {
    QTest::addColumn<int>("manifest");
    QTest::addColumn<int>("group");
    for (int i = 0; i < static_cast<int>(historyManifests().size()); ++i)
      for (int group = 0; group < static_cast<int>(kConditions.size()); ++group)
        QTest::addRow("%s %s", kConditions[at(group)].first, historyManifests()[at(i)].dump().c_str()) << i << group;
  }
  void holdWhereALookFindsThem() {
    QFETCH(int, manifest);
    QFETCH(int, group);
    const int sessions = std::max(1, qEnvironmentVariableIntValue("KVLAB_BREAKPOINT_SESSIONS"));
    for (int n = 0; n < sessions && !QTest::currentTestFailed(); ++n)
      oneSession(historyManifests()[at(manifest)], kConditions[at(group)].second,
                 static_cast<unsigned>(31 * manifest + n));
  }
  void cleanupTestCase() {
    for (const auto& [group, conditions] : kConditions)
      for (const std::string text : conditions) QVERIFY2(text == kNeverHolds || m_hits[text] > 0, text.c_str());
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  std::map<std::string, std::int64_t> m_hits;

  void oneSession(const json& manifest, const std::vector<const char*>& conditions, unsigned seed) {
    Twins twins(manifest, conditions, seed);
    std::mt19937 random(seed);
    for (int i = 0; i < 14; ++i) {
      twins.edit(random);
      const int ticks = 1 + static_cast<int>(random() % 3);
      const bool runs = random() % 2;
      const json done = twins.watched.must(runs ? "run" : "step", {{runs ? "maxTicks" : "n", ticks}});
      const auto made = runs ? done["count"].get<std::size_t>() : done.size();
      for (std::size_t tick = 0; tick < made; ++tick) twins.seen.s.must("step");
    }
    QCOMPARE(twins.watched.hash(), twins.seen.s.hash());
    const json points = twins.watched.must("breaks");
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::vector<std::int64_t> ticks = twins.ticksOf(i);
      m_hits[twins.seen.texts[i]] += std::ssize(ticks);
      const std::string text = points[i].dump() + " held at " + json(ticks).dump();
      QVERIFY2(points[i]["hits"] == std::ssize(ticks), text.c_str());
      QVERIFY2(points[i]["last"] == (ticks.empty() ? json() : json(ticks.back())), text.c_str());
    }
    stopsThere(twins, points);
  }

  /// Without `log` a run ends at the first tick at which one of them holds.
  void stopsThere(Twins& twins, const json& points) {
    for (const json& point : points) twins.watched.must("changeBreak", {{"id", point["id"]}, {"log", false}});
    const auto held = [&] {
      std::size_t all = 0;
      for (std::size_t i = 0; i < points.size(); ++i) all += twins.ticksOf(i).size();
      return all;
    };
    const json run = twins.watched.must("run", {{"maxTicks", 12}});
    const bool stopped = run["stoppedBy"] != "max_ticks" && run["stoppedBy"] != "end_of_text";
    for (int i = 1; i <= run["count"].get<int>(); ++i) {
      const std::size_t before = held();
      twins.seen.s.must("step");
      const bool last = i == run["count"].get<int>();
      QVERIFY2((held() > before) == (last && stopped), run.dump().c_str());
    }
  }
};

KV_TEST(BreakpointsTest)
#include "breakpoints_test.moc"
