// SPDX-License-Identifier: Apache-2.0
// The difference of two states: none of a state with itself, the same from both sides, and what a look at every row of
// every layer says.
#include "core/session/difference.h"
#include "core/session/requests.h"
#include "support/commits.h"

using namespace kvlab;

namespace {

const std::vector<json> kManifests = {
    json::object(),
    {{"layout", "contiguous_splice"}},
    {{"layout", "paged:block=4"}, {"kv", {{"k", "int8"}, {"v", "int8"}}}},
    {{"layout", "ring_fused"}, {"ring", {{"window", 14}}}},
    {{"policy", "h2o:ratio=0.5,window=4"}, {"residency", "kv_head"}},
    {{"key_phase", "at_write"}, {"after_edit", "recompute"}},
    {{"capacity", 0}, {"wlod", {{"budget", 160}, {"moments", 512}}}},
};

struct SeenRow {
  double phase = 0;
  json k, v;
};
using SeenRows = std::map<LedgerId, SeenRow>;

/// [layers] rows as the verb `row` shows them, one by one.
std::vector<SeenRows> rowsOf(Session& session) {
  std::vector<SeenRows> out;
  for (const CacheLayer layer : session.state().layers()) {
    const ResidencyView& map = session.state().map(layer);
    SeenRows& rows = out.emplace_back();
    for (auto i = static_cast<std::size_t>(map.first); i < map.size(); ++i) {
      if (!map.has(i)) continue;
      json args{{"layer", session.cacheLayers().layerOf(layer).value()}, {"index", i}, {"which", "both"}};
      if (const std::optional<Head> head = session.cacheLayers().headOf(layer)) args["kvHead"] = head->value();
      const Result<json> row = execute(session, "row", args);
      if (!row) qFatal("%s", row.error().text().c_str());
      rows[map.ledger[i]] = {map.phase(i).value(), (*row)["k"]["data"], (*row)["v"]["data"]};
    }
  }
  return out;
}

/// What the rows of both states say of one layer.
void lookEqual(const SeenRows& then, const SeenRows& now, const LayerDifference& found) {
  std::vector<LedgerId> onlyThen, onlyNow, changed, listed;
  int alike = 0;
  for (const auto& [id, row] : then) {
    const auto other = now.find(id);
    if (other == now.end()) onlyThen.push_back(id);
    else if (row.phase != other->second.phase || row.k != other->second.k || row.v != other->second.v)
      changed.push_back(id);
    else ++alike;
  }
  for (const auto& [id, row] : now)
    if (!then.contains(id)) onlyNow.push_back(id);
  for (const RowDifference& row : found.changed) {
    listed.push_back(row.row);
    QCOMPARE(row.phaseThen, then.at(row.row).phase);
    QCOMPARE(row.phaseNow, now.at(row.row).phase);
    QCOMPARE(row.k != 0, then.at(row.row).k != now.at(row.row).k);
    QCOMPARE(row.v != 0, then.at(row.row).v != now.at(row.row).v);
  }
  QCOMPARE(found.onlyThen, onlyThen);
  QCOMPARE(found.onlyNow, onlyNow);
  QCOMPARE(listed, changed);
  QCOMPARE(found.moved + found.same, alike);
}

}  // namespace

class DifferenceTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void equalsALookAtEveryRow_data() {
    QTest::addColumn<int>("manifest");
    for (int i = 0; i < static_cast<int>(kManifests.size()); ++i)
      QTest::addRow("%d %s", i, kManifests[static_cast<std::size_t>(i)].dump().c_str()) << i;
  }
  void equalsALookAtEveryRow() {
    QFETCH(int, manifest);
    int changed = 0, gone = 0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      SessionFixture s(kManifests[static_cast<std::size_t>(manifest)]);
      std::mt19937 random(seed);
      s.prompt(16, seed);
      for (int i = 0; i < 14; ++i) randomCommit(s, random);
      const auto none = difference(*s, *s);
      QVERIFY(none && none->alike() && none->kl.value_or(0) == 0);
      for (const int entry : {1, s->timeline().size() / 2, s->timeline().size() - 2}) {
        const Result<Session*> then = s->past().at(*s, entry);
        QVERIFY(then);
        const auto forth = difference(**then, *s), back = difference(*s, **then);
        QVERIFY(forth && back);
        const auto before = rowsOf(**then), now = rowsOf(*s);
        for (std::size_t layer = 0; layer < before.size(); ++layer) {
          const LayerDifference &there = forth->layers[layer], &here = back->layers[layer];
          lookEqual(before[layer], now[layer], there);
          if (QTest::currentTestFailed()) return;
          QCOMPARE(here.onlyThen, there.onlyNow);
          QCOMPARE(here.onlyNow, there.onlyThen);
          QCOMPARE(here.same, there.same);
          QCOMPARE(here.changed.size(), there.changed.size());
          for (std::size_t i = 0; i < here.changed.size(); ++i) {
            const RowDifference &a = there.changed[i], &b = here.changed[i];
            QCOMPARE(b, (RowDifference{a.row, a.phaseNow, a.phaseThen, a.k, a.v}));
          }
          changed += static_cast<int>(there.changed.size());
          gone += static_cast<int>(there.onlyThen.size());
        }
        QCOMPARE(back->onlyThen, forth->onlyNow);
        QCOMPARE(back->exactness.size(), forth->exactness.size());
        QCOMPARE(forth->alike(), back->alike());
      }
    }
    QVERIFY2(changed > 0 && gone > 0, "nothing differed");
  }

  /// An edit that is taken back leaves no difference; one value bit is found in its layer and row.
  void findsAPlantedBit() {
    SessionFixture s(json{{"faults", true}});
    s.prompt(12);
    s.must("step", {{"n", 3}});
    const std::int64_t tick = s->state().tick.value();
    QVERIFY(s.must("difference", {{"tick", tick}})["alike"] == true);
    const Result<Session*> then = s->past().at(*s, s->timeline().currentId());
    QVERIFY(then);
    s.must("fault", {{"kind", "value_bit"}, {"layer", 2}, {"index", 7}, {"bit", 5}});
    const auto found = difference(**then, *s);
    QVERIFY(found && !found->alike());
    for (const LayerDifference& one : found->layers) {
      QCOMPARE(one.changed.size(), one.layer == CacheLayer(2) ? 1u : 0u);
      if (!one.changed.empty()) QCOMPARE(one.changed[0].row, s->state().map(CacheLayer(2)).ledger[7]);
    }
  }
};

QTEST_GUILESS_MAIN(DifferenceTest)
#include "difference_test.moc"
