// SPDX-License-Identifier: Apache-2.0
// The difference of two states: none of a state with itself, the same from both sides, and the result of a look at
// every row of every layer.
#include "core/session/difference.h"
#include "core/session/past.h"
#include "core/session/requests.h"
#include "core/session/row_pairs.h"
#include "core/session/tiles.h"
#include "support/commits.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

const std::vector<json> kCompared = {
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

/// Checks the difference of one layer against the rows of both states.
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
    for (int i = 0; i < static_cast<int>(kCompared.size()); ++i)
      QTest::addRow("%d %s", i, kCompared[static_cast<std::size_t>(i)].dump().c_str()) << i;
  }
  void equalsALookAtEveryRow() {
    QFETCH(int, manifest);
    int changed = 0, gone = 0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      SessionFixture s(kCompared[static_cast<std::size_t>(manifest)]);
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
            QCOMPARE(b, (RowDifference{a.row, a.row, a.phaseNow, a.phaseThen, a.k, a.v}));
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

  /// A longest common subsequence, against the table that every textbook has.
  void alignsAsLongAsPossible() {
    std::mt19937 random(7);
    for (int n = 0; n < 300; ++n) {
      const auto list = [&] {
        std::vector<std::int64_t> out(random() % 14);
        for (auto& one : out) one = random() % 4;
        return out;
      };
      const std::vector<std::int64_t> a = list(), b = list();
      std::vector<std::vector<std::size_t>> longest(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
      for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < b.size(); ++j)
          longest[i + 1][j + 1] = a[i] == b[j] ? longest[i][j] + 1 : std::max(longest[i][j + 1], longest[i + 1][j]);
      const Places found = alignedPlaces(a, b);
      QCOMPARE(found.size(), longest[a.size()][b.size()]);
      for (std::size_t i = 0; i < found.size(); ++i) {
        QCOMPARE(a[found[i].first], b[found[i].second]);
        if (i > 0) QVERIFY(found[i].first > found[i - 1].first && found[i].second > found[i - 1].second);
      }
      QVERIFY(alignedPlaces(a, b, 0).size() <= found.size());
    }
  }

  /// Two branches after the same prompt: rows that came apart are one row where their tokens align.
  void branchesAlign_data() { equalsALookAtEveryRow_data(); }
  void branchesAlign() {
    QFETCH(int, manifest);
    SessionFixture s(kCompared[static_cast<std::size_t>(manifest)]);
    s.prompt(10);
    s.must("step", {{"tokens", {41}}});
    const std::int64_t parting = s->state().tick.value();
    for (const int token : {50, 60, 70, 80}) s.must("step", {{"tokens", {token}}});
    const json there = s.must("tokens");
    s.must("goto", {{"tick", parting}});
    for (const int token : {55, 60, 70, 80}) s.must("step", {{"tokens", {token}}});
    QCOMPARE(s->timeline().branches().size(), std::size_t(2));
    const json answer = s.must("difference", {{"branch", "main"}});
    QCOMPARE(answer["then"], json(parting + 4));
    QCOMPARE(answer["onlyThen"].size(), std::size_t(1));
    QCOMPARE(answer["onlyNow"].size(), std::size_t(1));
    QCOMPARE(answer["textsThen"].size(), std::size_t(1));
    for (const json& layer : answer["layers"])
      for (const json& row : layer["changed"]) QVERIFY(row["ledger"] > 10);
    QCOMPARE(s.must("at", {{"tick", parting + 4}, {"branch", "main"}, {"verb", "tokens"}}), there);
    QCOMPARE(s.must("firstDifference", {{"branch", "main"}}), json(parting + 1));
    QVERIFY(s.sound());
  }

  /// Two branches that do the same for a while: the tick at which a planted edit sets them apart is found, whatever
  /// states are kept.
  void bisectFindsThePlantedTick_data() { equalsALookAtEveryRow_data(); }
  void bisectFindsThePlantedTick() {
    QFETCH(int, manifest);
    for (const std::int64_t kept : {std::int64_t{64} << 20, std::int64_t{0}})
      for (const int planted : {1, 4, 9}) {
        json keys = kCompared[static_cast<std::size_t>(manifest)];
        keys["history_bytes"] = kept;
        SessionFixture s(keys);
        s.prompt(12);
        const std::int64_t parting = s->state().tick.value();
        const auto go = [&](int edit) {
          for (int i = 1; i <= 9; ++i) {
            if (i == edit) s.must("setBrightness", {{"ledger", s->state().context[0].value()}, {"value", 3}});
            s.must("step", {{"tokens", {30 + i}}});
          }
        };
        go(0);
        s.must("goto", {{"tick", parting}});
        s.must("step", {{"tokens", {31}}});  // opens the branch
        s.must("undo");
        go(planted);
        const json found = s.must("firstDifference", {{"branch", "main"}});
        QCOMPARE(found, json(parting + planted - 1));  // the edit made no tick of its own
        const std::string hash = s.hash();
        QCOMPARE(s.must("firstDifference", {{"branch", s->timeline().branch()}}), json());
        QCOMPARE(s.hash(), hash);
      }
  }

  /// A capture and a cache file, compared with the session that wrote them and with its later state.
  void filesCompare() {
    QTemporaryDir folder;
    const std::string capture = folder.filePath("a.kvcap").toStdString();
    const std::string cache = folder.filePath("a.safetensors").toStdString();
    SessionFixture s;
    s.prompt(12);
    s.must("step", {{"n", 4}});
    s.must("saveCapture", {{"path", capture}});
    s.must("saveCache", {{"path", cache}});
    const std::int64_t tick = s->state().tick.value();
    QCOMPARE(s.must("differenceFrom", {{"path", capture}})["alike"], json(true));
    QCOMPARE(s.must("differenceFrom", {{"path", cache}})["alike"], json(true));
    QCOMPARE(s.must("differenceFrom", {{"path", capture}, {"tick", tick - 2}}), [&] {
      json out = s.must("difference", {{"tick", tick - 2}});
      return out;
    }());
    s.must("inject",
           {{"actions", {{{"action", "replace"}, {"positions", {4}}, {"new_token_ids", {99}}}}}, {"now", true}});
    const json edited = s.must("difference");
    QCOMPARE(edited["onlyThen"], json({4}));
    QVERIFY(edited["edit"].get<std::string>().starts_with("replace"));
    const json from = s.must("differenceFrom", {{"path", cache}});
    QCOMPARE(from["onlyThen"], json({4}));
    QCOMPARE(from["layers"], edited["layers"]);
    QCOMPARE(s.verb("differenceFrom", {{"path", cache}, {"tick", 2}}).error().code, std::string("bad_argument"));
    QVERIFY(!s.verb("differenceFrom", {{"path", "nowhere"}}));
    QCOMPARE(s.verb("difference", {{"branch", "twig"}}).error().code, std::string("unknown_branch"));
    SessionFixture fresh;
    QCOMPARE(fresh.verb("difference").error().code, std::string("no_edit"));
  }

  /// The tile of the quantity has the same value for each row as the difference.
  void tilesShowIt() {
    SessionFixture s;
    s.prompt(12);
    s.must("step", {{"n", 3}});
    s.must("inject", {{"actions", {{{"action", "insert"}, {"position", 5}, {"token_ids", {77}}}}}, {"now", true}});
    for (const bool rebuilt : {false, true}) {  // a row came; then keys and values change
      if (rebuilt) s.must("rebuild");
      const json answer = s.must("difference");
      tileIs(s, Quantity::DifferenceK, answer["layers"], "k");
      tileIs(s, Quantity::DifferenceV, answer["layers"], "v");
      if (rebuilt) QVERIFY(answer["layers"][2]["changed"][0]["k"] != answer["layers"][2]["changed"][0]["v"]);
    }
    s.must("step");
    auto pending = tile(*s, {.quantity = Quantity::DifferenceK});
    QVERIFY(std::isnan((*pending)->take()->values[0]));
  }

 private:
  static void tileIs(SessionFixture& s, Quantity quantity, const json& layers, const char* tensor) {
    auto pending = tile(*s, {.quantity = quantity});
    QVERIFY(pending);
    const Result<Tile> shown = (*pending)->take();
    QVERIFY(shown);
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      std::map<std::int32_t, float> apart;
      for (const json& row : layers[layer]["changed"]) apart[row["ledger"]] = row[tensor].get<float>();
      for (const json& row : layers[layer]["onlyNow"]) apart[row] = 1;
      for (std::size_t p = 0; p < s->state().context.size(); ++p) {
        const auto one = apart.find(s->state().context[p].value());
        QCOMPARE(shown->values[layer * s->state().context.size() + p], one == apart.end() ? 0.0f : one->second);
      }
    }
  }
};

KV_TEST(DifferenceTest)
#include "difference_test.moc"
