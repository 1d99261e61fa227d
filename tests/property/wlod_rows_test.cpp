// SPDX-License-Identifier: Apache-2.0
// wLOD over a model: rows that were computed incrementally are those of a full recompute, bit for bit; rows before an
// edit keep their bytes; a failure leaves everything as it was. semantics.md, section 8.
#include "support/wlod_fixture.h"

#include <set>

#include "core/edit/compute_rows.h"
#include "core/kinds/wlod/tree/focus_allocator.h"
#include "core/kinds/wlod/tree/lens.h"
#include "kernels/row_checksum.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

WlodRules rules(WlodAttention attention, double sigma = 1, bool nearCausal = false) {
  WlodRules out;
  out.attention = attention;
  out.pyramid = {64, 1024, nearCausal};
  out.sigma = sigma;
  out.working = {4000, 0, 0};
  return out;
}

/// Some legal or illegal list.
std::vector<Action> someActions(const WlodFixture& cache, std::mt19937& random) {
  std::vector<Action> out;
  const auto pick = [&](std::int32_t n) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(std::max(1, n)));
  };
  const std::int32_t length = cache.state.tree.length(), cost = cache.state.context.cost();
  switch (random() % 6) {
    case 0:
      for (std::int32_t i = 0; i <= pick(40); ++i) out.push_back(Add{TokenId(3 + pick(250))});
      break;
    case 1: out.push_back(Replace{{Position(pick(cost))}, {TokenId(3 + pick(250))}}); break;
    case 2: {
      const std::int32_t position = random() % 2 ? pick(cost) : cost - 1 - pick(40);
      if (random() % 2) out.push_back(Delete{Position(position)});
      else out.push_back(Insert{Position(position), {TokenId(7), TokenId(9)}});
      break;
    }
    case 3:
      for (const TreeNode entry : cache.state.context.entries())
        if (entry.level && random() % 3 == 0) out.push_back(Expand{entry.id()});
      break;
    default:
      for (std::int32_t i = 0; i <= pick(3); ++i) {
        const int level = random() % 8 ? 1 : 2;
        out.push_back(Collapse{TreeNode{level, pick(length / spanOf(level)) * spanOf(level)}.id()});
      }
  }
  return out;
}

}  // namespace

class WlodRowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void incrementalIsFull_data() {
    QTest::addColumn<bool>("pyramid");
    QTest::addColumn<double>("sigma");
    QTest::addColumn<bool>("near");
    QTest::addColumn<QString>("model");
    QTest::newRow("flat") << false << 1.0 << false << "synthetic:tiny";
    QTest::newRow("pyramid") << true << 1.0 << false << "synthetic:tiny";
    QTest::newRow("pyramid, near-causal") << true << 1.0 << true << "synthetic:tiny";
    QTest::newRow("pyramid, no damping") << true << 0.0 << false << "synthetic:tiny";
    QTest::newRow("pyramid, bf16") << true << 1.0 << true << "synthetic:tiny:dtype=bf16";
  }
  void incrementalIsFull() {
    QFETCH(bool, pyramid);
    QFETCH(double, sigma);
    QFETCH(bool, near);
    QFETCH(QString, model);
    int done = 0, refused = 0, kept = 0, clean = 0;
    for (unsigned seed = 1; seed <= 4; ++seed) {
      std::mt19937 random(seed);
      WlodFixture cache({.rules = rules(pyramid ? WlodAttention::Pyramid : WlodAttention::Flat, sigma, near),
                         .model = model.toStdString()});
      QVERIFY(cache.add(1200));
      for (int step = 0; step < 14; ++step) {
        const auto before = cache.allBytes();
        const std::vector<WlodRow> rowsBefore(cache.state.rows.begin(), cache.state.rows.end());
        const std::int32_t used = cache.inUse();
        const auto applied = cache.apply(someActions(cache, random));
        if (!applied) {
          ++refused;
          QVERIFY2(!applied.error().remedy.empty(), applied.error().text().c_str());
          QVERIFY(cache.allBytes() == before && cache.inUse() == used);
          continue;
        }
        ++done;
        QCOMPARE(cache.inUse(), cache.state.count());
        const Invalidation& dirty = applied->invalidation;
        clean += dirty.firstDirty;
        for (const CacheLayer layer : cache.store.layers()) {
          const std::size_t front = at(dirty.firstDirty * cache.store.pool(layer).stride());
          QVERIFY2(std::equal(before[at(layer)].begin(), before[at(layer)].begin() + static_cast<std::ptrdiff_t>(front),
                              cache.bytes(layer).begin()),
                   "a row before the edit changed");
        }
        kept += static_cast<int>(std::count(dirty.layer0.begin(), dirty.layer0.end(), true));
        const auto incremental = cache.allBytes();
        const std::vector<float> logits = cache.logits;
        QVERIFY(cache.rebuild());
        const auto full = cache.allBytes();
        for (std::size_t layer = 0; layer < full.size(); ++layer)
          QVERIFY2(incremental[layer] == full[layer],
                   qPrintable(QString("layer %1, seed %2, step %3").arg(layer).arg(seed).arg(step)));
        QVERIFY(logits == cache.logits);
        QCOMPARE(cache.inUse(), cache.state.count());
      }
    }
    QVERIFY2(done > 15 && refused > 2 && kept > 100 && clean > 1000,
             qPrintable(QString("%1 %2 %3 %4").arg(done).arg(refused).arg(kept).arg(clean)));
  }

  /// If nothing is collapsed, `flat` is a plain causal decoder.
  void flatOverTokensIsTheDecoder() {
    WlodFixture cache({.rules = rules(WlodAttention::Flat, 0)});
    QVERIFY(cache.add(200));
    Result<CacheStore> store = CacheStore::create(*cache.backend, static_cast<int>(cache.store.layers().size()),
                                                  cache.store.pool(CacheLayer(0)).format(), 300);
    RowsJob job;
    LayerGroup group;
    auto map = std::make_shared<ResidencyView>();
    for (std::int32_t t = 0; t < 200; ++t) {
      const LedgerId id = cache.state.tree.token(Moment(t));
      map->ledger.push_back(id);
      map->slotOf.push_back(Slot(t));
      map->phases.push_back(t);
      job.context.push_back(id);
      job.rows.push_back({id, cache.ledger[id].token, t, t});
    }
    group.map = map;
    job.groups.push_back(group);
    job.groupOf.assign(cache.store.layers().size(), 0);
    job.wanted.logits = true;
    const auto plain = computeRows(*cache.transformer, *store, cache.faults, job);
    QVERIFY(plain);
    QVERIFY(plain->logits == cache.logits);
    std::vector<std::uint8_t> own(200 * at(store->pool(CacheLayer(0)).stride()));
    std::vector<Slot> slots;
    for (std::int32_t t = 0; t < 200; ++t) slots.push_back(Slot(t));
    for (const CacheLayer layer : store->layers()) {
      store->pool(layer).readRecords(slots, own.data());
      QVERIFY(own == cache.bytes(layer));
    }
  }

  /// Near-causal summaries differ from others, and tokens see nothing that is not over: a later token changes no row
  /// that ends before it.
  void nearCausalSummariesSeeTheirSpan() {
    WlodFixture causal({.rules = rules(WlodAttention::Pyramid)}),
        near({.rules = rules(WlodAttention::Pyramid, 1, true)});
    QVERIFY(causal.add(1100) && near.add(1100));
    const auto strict = causal.values(), seen = near.values();
    const std::size_t width = seen[1].size() / at(near.state.count()) / 2;
    std::set<int> differ;
    for (std::size_t row = 0; row < at(near.state.count()); ++row)
      if (!std::equal(seen[1].begin() + static_cast<std::ptrdiff_t>(row * width),
                      seen[1].begin() + static_cast<std::ptrdiff_t>((row + 1) * width),
                      strict[1].begin() + static_cast<std::ptrdiff_t>(row * width)))
        differ.insert(near.state.rows[row].node.level * 10 + near.state.rows[row].entry);
    QVERIFY(differ.contains(10) && differ.contains(20));
    QCOMPARE(seen[0], strict[0]);
    const auto before = near.bytes(CacheLayer(1), near.state.count() - 40);
    QVERIFY(near.apply({Replace{{Position(1090)}, {TokenId(9)}}}));
    QCOMPARE(near.bytes(CacheLayer(1), near.state.count() - 40), before);
  }

  void chunksDoNotMatter() {
    std::vector<std::vector<float>> first;
    for (const int chunk : {1, 7, 64, 512}) {
      WlodFixture cache({.rules = rules(WlodAttention::Pyramid), .chunk = chunk});
      QVERIFY(cache.add(1300));
      if (first.empty()) first = cache.values();
      QVERIFY(cache.values() == first);
    }
    WlodFixture grown({.rules = rules(WlodAttention::Pyramid)});
    std::mt19937 random(5);
    for (int i = 0; i < 1300; ++i) {
      const TokenId token(3 + static_cast<std::int32_t>(random() % 250));
      if (i >= 1100 || i == 0) {
        QVERIFY(grown.apply({Add{token}}));
        continue;
      }
      std::vector<Action> many{Add{token}};
      for (; many.size() < 50 && i + 1 < 1100; ++i)
        many.push_back(Add{TokenId(3 + static_cast<std::int32_t>(random() % 250))});
      QVERIFY(grown.apply(many));
    }
    QVERIFY(grown.values() == first);
  }

  void expandUndoesCollapse() {
    for (const WlodAttention attention : {WlodAttention::Flat, WlodAttention::Pyramid}) {
      WlodFixture cache({.rules = rules(attention)});
      QVERIFY(cache.add(1100));
      const auto before = cache.allBytes();
      const std::vector<float> logits = cache.logits;
      QVERIFY(cache.apply({Collapse{TreeNode{1, 1056}.id()}, Collapse{TreeNode{1, 64}.id()}}));
      QVERIFY(cache.logits != logits);
      const LedgerId gist = cache.state.tree.row({1, 64}), token = cache.state.tree.token(Moment(70));
      QCOMPARE(cache.ledger[gist].kind, RowKind::Gist);
      QCOMPARE(cache.ledger[gist].state, RowState::Live);
      QCOMPARE(cache.ledger[token].state, RowState::Collapsed);
      QVERIFY(cache.apply({Expand{TreeNode{1, 64}.id()}, Expand{TreeNode{1, 1056}.id()}}));
      QCOMPARE(cache.ledger[gist].state, RowState::Replaced);
      QCOMPARE(cache.ledger[token].state, RowState::Live);
      QVERIFY(cache.logits == logits);
      QVERIFY(cache.allBytes() == before);
    }
  }

  void contentEditsReachTheGists() {
    WlodFixture cache({.rules = rules(WlodAttention::Pyramid)}), fresh({.rules = rules(WlodAttention::Pyramid)});
    QVERIFY(cache.add(1100) && fresh.add(1100));
    const std::vector<float> logits = cache.logits;
    QVERIFY(cache.apply({Replace{{Position(3)}, {TokenId(250)}}}));
    QVERIFY(cache.logits != logits);
    QVERIFY(cache.apply({Collapse{TreeNode{1, 0}.id()}}));
    QVERIFY(fresh.apply({Collapse{TreeNode{1, 0}.id()}}));
    QVERIFY(cache.logits != fresh.logits);
  }

  void whatIsRefused_data() {
    QTest::addColumn<int>("way");
    QTest::addColumn<QString>("code");
    int way = 0;
    for (const char* code :
         {"not_a_token", "over_budget", "not_a_token", "not_a_token", "out_of_range", "bad_token", "unsupported",
          "overlap", "partial", "over_budget", "misaligned", "over_budget", "empty_tokens", "unknown_node"})
      QTest::newRow(qPrintable(QString("%1 %2").arg(way).arg(code))) << way << QString(code), ++way;
  }
  void whatIsRefused() {
    QFETCH(int, way);
    QFETCH(QString, code);
    WlodRules with = rules(WlodAttention::Pyramid);
    with.working.budget = 170;
    WlodFixture cache({.rules = with});
    QVERIFY(cache.add(170));
    QVERIFY(cache.apply({Collapse{TreeNode{1, 32}.id()}}));  // 139 entries: 0..31, a gist, 64..169
    QVERIFY(cache.add(10));
    const auto before = cache.allBytes();
    const std::vector<std::vector<Action>> lists = {
        {Add{TokenId(5)}, Delete{Position(32)}},
        {Insert{Position(3), std::vector(40, TokenId(5))}},
        {ReplacePair{Position(31), Position(32), {TokenId(5)}}},
        {Replace{{Position(32)}, {TokenId(5)}}},
        {Delete{Position(900)}},
        {Add{TokenId(100000)}},
        {Evict{Layer(0), {}, {LedgerId(3)}}},
        {Replace{{Position(3)}, {TokenId(5)}}, Replace{{Position(3)}, {TokenId(6)}}},
        {Collapse{TreeNode{1, 32}.id()}},
        {Expand{TreeNode{1, 32}.id()}},
        {Collapse{NodeId((5 << 2) + 1)}},
        std::vector<Action>(40, Add{TokenId(5)}),
        {Replace{{Position(3)}, {}}},
        {Collapse{NodeId(-7)}}};
    const auto refused = cache.apply(lists[at(way)]);
    QVERIFY(!refused);
    QCOMPARE(QString::fromStdString(refused.error().code), code);
    QVERIFY(!refused.error().why.empty() && !refused.error().remedy.empty());
    QVERIFY(cache.allBytes() == before);
    QCOMPARE(cache.inUse(), cache.state.count());
  }

  void aFailureLeavesTheOldState() {
    WlodFixture cache({.rules = rules(WlodAttention::Pyramid)});
    QVERIFY(cache.add(300));
    const auto before = cache.allBytes();
    int failed = 0;
    for (int n = 1; n < 40; ++n)
      for (const FaultPoint point : {FaultPoint::Kernel, FaultPoint::Allocation}) {
        cache.faults.arm(point, n);
        const WlodState was = cache.state;
        const auto applied = cache.apply({Collapse{TreeNode{1, 64}.id()}});
        cache.faults.disarm();
        if (applied) {
          QVERIFY(cache.apply({Expand{TreeNode{1, 64}.id()}}));
          continue;
        }
        ++failed;
        QCOMPARE(cache.inUse(), cache.state.count());
        QVERIFY(cache.allBytes() == before);
      }
    QVERIFY(failed > 5);
  }

  void theCostModelDecides() {
    WlodFixture cache({.rules = rules(WlodAttention::Pyramid)});
    QVERIFY(cache.add(1100));
    auto applied = cache.apply({Collapse{TreeNode{1, 0}.id()}}, WlodRecompute::Chosen);
    QVERIFY(applied && applied->choice.full && applied->result.rows == cache.state.count());
    applied = cache.apply({Collapse{TreeNode{1, 1024}.id()}}, WlodRecompute::Chosen);
    QVERIFY(applied && !applied->choice.full && applied->result.rows < 100);
    applied = cache.apply({Add{TokenId(9)}}, WlodRecompute::Chosen);
    QVERIFY(applied && applied->result.rows == 1);
  }

  /// A time line ten times the budget: it starts cold, makes room for each token and refocuses where attention goes.
  void aLongTimeLineInASmallBudget() {
    for (const WlodAttention attention : {WlodAttention::Flat, WlodAttention::Pyramid}) {
      WlodRules with = rules(attention);
      with.working = {300, 64, 2};
      WlodFixture cache({.rules = with});
      QVERIFY(cache.add(3000));
      QVERIFY(cache.state.context.cost() <= 300);
      QCOMPARE(cache.ledger[cache.state.tree.token(Moment(5))].state, RowState::Collapsed);
      QCOMPARE(cache.ledger[cache.state.tree.token(Moment(2999))].state, RowState::Live);
      int rounds = 0, expanded = 0, collapsed = 0;
      std::vector<double> scores(at(cache.state.context.cost()), 0.0);
      for (int i = 0; i < 200; ++i) {
        std::vector<Action> actions;
        const auto take = [&](const Refocus& decided) {
          for (const LodEdit& edit : decided.edits) {
            (edit.expand ? expanded : collapsed)++;
            if (edit.expand) actions.push_back(Expand{edit.node.id()});
            else actions.push_back(Collapse{edit.node.id()});
          }
        };
        if (i % 32 == 31) {
          const auto decided = refocus(cache.state.context, scores, {}, with.working);
          QVERIFY(decided);
          take(*decided);
          ++rounds;
          cache.state.context = cache.state.context.nextRound();
        }
        if (actions.empty()) {
          const auto room = makeRoom(cache.state.context, scores, 1, {}, with.working);
          QVERIFY2(bool(room), room ? "" : room.error().text().c_str());
          take(*room);
          actions.push_back(Add{TokenId(3 + i)});
        }
        const auto applied = cache.apply(actions);
        QVERIFY2(bool(applied), applied ? "" : applied.error().text().c_str());
        QVERIFY(cache.state.context.cost() <= 300 && cache.inUse() == cache.state.count());
        scores =
            attentionScores(entryMass(cache.state.context, cache.state.rows.span(), applied->result.attention->mass));
      }
      QVERIFY2(rounds == 6 && collapsed > 2, qPrintable(QString("%1 %2").arg(expanded).arg(collapsed)));
      const auto incremental = cache.allBytes();
      QVERIFY(cache.rebuild());
      QVERIFY(cache.allBytes() == incremental);
    }
  }

  /// The attention of the newest entry, by row: all of it, and nothing else.
  void attentionIsThatOfTheNewestEntry() {
    for (const WlodAttention attention : {WlodAttention::Flat, WlodAttention::Pyramid}) {
      WlodFixture cache({.rules = rules(attention)});
      QVERIFY(cache.add(1215));
      const auto applied = cache.apply({Add{TokenId(4)}});  // moment 1215 closes a block: a summary arrives behind it
      QVERIFY(applied);
      QCOMPARE(applied->result.attention->mass.size(), cache.store.layers().size());
      const Coverage coverage(cache.state.context, cache.state.rows.span(), attention, cache.state.rules.pyramid);
      for (const std::vector<float>& mass : applied->result.attention->mass) {
        double sum = 0;
        for (const float m : mass) sum += double(m);
        QVERIFY(std::abs(sum - 1) < 1e-4);
        for (std::size_t row = 0; row < mass.size(); ++row)
          if (!cache.state.rows[row].entry && attention == WlodAttention::Pyramid &&
              cache.state.rows[row].node.end() > 1216 - 64)
            QCOMPARE(mass[row], 0.0f);
      }
    }
  }
};

KV_TEST(WlodRowsTest)
#include "wlod_rows_test.moc"
