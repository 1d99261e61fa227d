// SPDX-License-Identifier: Apache-2.0
// wLOD without a model, on random working contexts: tilings stay tilings, every past moment is covered exactly once and
// causally, and rows that an edit leaves clean saw nothing of the edit. semantics.md, section 8.
#include "core/kinds/wlod/edit/wlod_given.h"
#include "core/kinds/wlod/tree/coverage.h"
#include "core/kinds/wlod/tree/focus_allocator.h"
#include "core/kinds/wlod/tree/invalidation.h"
#include "support/runner.h"
#include "support/working_contexts.h"

using namespace kvlab;

namespace {

/// The definition of section 8 for one query, moment by moment: how coarse each past moment is seen at most.
struct Definition {
  const WorkingContext& context;
  std::int32_t near, middle;
  bool nearCausal = false;

  /// The row that shows moment u to a query at t.
  WlodRow showing(std::int32_t u, std::int32_t t) const {
    const TreeNode leaf = context.entries()[at(context.entryAt(u))];
    const TreeNode two = TreeNode{0, u}.at(2), one = TreeNode{0, u}.at(1);
    const int level = two.end() <= t - middle ? 2 : one.end() <= t - near ? 1 : 0;
    if (leaf.level >= level) return {leaf, true};
    return {TreeNode{0, u}.at(level), false};
  }
};

struct Scene {
  std::mt19937 random;
  WorkingContext context;
  std::vector<WlodRow> rows;
  Scene(unsigned seed, std::int32_t length, WlodAttention attention) : random(seed) {
    context = shuffled(tokens(length), random, 3 * length / kGistBlock);
    rows = wlodRows(context, attention);
  }
};

/// Rows that a query looks at, itself included, as the pass would have them.
std::vector<WlodRow> seenBy(const QueryBlock& block, std::size_t query, const std::vector<WlodRow>& rows) {
  std::vector<WlodRow> out;
  for (std::int32_t i = 0; i < block.seen[query]; ++i) out.push_back(rows[at(block.rows[at(i)])]);
  if (block.self[query]) out.push_back(rows[at(block.queries[query])]);
  return out;
}

QByteArray flawOf(const Scene& scene, const Definition& definition, const QueryBlock& block, std::size_t query,
                  bool flat) {
  const WlodRow& own = scene.rows[at(block.queries[query])];
  const std::int32_t until = definition.nearCausal && !own.entry ? own.node.end() : own.node.start;
  const std::vector<WlodRow> seen = seenBy(block, query, scene.rows);
  const auto say = [&](const std::string& text) { return QByteArray::fromStdString(own.node.text() + ": " + text); };
  if (seen.empty() || !(seen.back() == own)) return say("does not see itself last");
  std::int32_t t = 0;
  for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
    const TreeNode node = seen[i].node;
    if (node.start != t) return say(node.text() + " does not go on at " + std::to_string(t));
    if (node.end() > until) return say(node.text() + " ends behind the query");
    if (node.start >= own.node.start && node.level != own.node.level - 1)
      return say(node.text() + " is not one level finer");
    for (std::int32_t u = node.start; u < std::min(node.end(), own.node.start) && !flat; u += 5)
      if (!(definition.showing(u, own.node.start) == seen[i]))
        return say(node.text() + " shows moment " + std::to_string(u));
    t = node.end();
  }
  return t == until ? QByteArray() : say("sees up to " + std::to_string(t));
}

}  // namespace

class WlodTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Checks derive the rows that a row sees one by one from the rules; passes take them from Coverage.
  void checksSeeTheSameRows() {
    for (unsigned seed = 0; seed < 12; ++seed) {
      const WlodAttention attention = seed % 4 == 0 ? WlodAttention::Flat : WlodAttention::Pyramid;
      const Scene scene(seed, 1500 + 700 * static_cast<std::int32_t>(seed), attention);
      WlodState state;
      state.rules.attention = attention;
      state.rules.pyramid = {static_cast<std::int32_t>(20 + 90 * seed), static_cast<std::int32_t>(300 + 500 * seed),
                             seed % 2 == 1};
      state.rows.assign(scene.rows);
      const WlodGiven given(state, {}, {});
      const Coverage coverage(scene.context, scene.rows, attention, state.rules.pyramid);
      for (const QueryBlock& block : coverage.blocks(0, static_cast<std::int32_t>(scene.rows.size())))
        for (std::size_t query = 0; query < block.queries.size(); ++query) {
          const std::int32_t own = block.queries[query];
          std::vector<std::int32_t> seen(block.rows.begin(), block.rows.begin() + block.seen[query]);
          if (block.self[query]) seen.push_back(own);
          std::ranges::sort(seen);
          QVERIFY2(given.seenBy(at(own), 0) == seen,
                   (std::to_string(seed) + ": " + scene.rows[at(own)].node.text()).c_str());
        }
    }
  }

  void everyPastMomentOnce_data() {
    QTest::addColumn<int>("length");
    QTest::addColumn<int>("near");
    QTest::addColumn<int>("middle");
    QTest::newRow("one block") << 40 << 256 << 4096;
    QTest::newRow("small windows") << 5000 << 32 << 1024;
    QTest::newRow("near alone") << 3000 << 0 << 0;
    QTest::newRow("odd windows") << 7777 << 100 << 1500;
    QTest::newRow("as shipped") << 9000 << 256 << 4096;
  }
  void everyPastMomentOnce() {
    QFETCH(int, length);
    QFETCH(int, near);
    QFETCH(int, middle);
    for (unsigned seed = 1; seed <= 4; ++seed)
      for (const WlodAttention attention : {WlodAttention::Flat, WlodAttention::Pyramid}) {
        const Scene scene(seed, length, attention);
        const bool nearCausal = seed > 2;
        const auto up = [](int n, int to) { return (n + to - 1) / to * to; };
        const Definition definition{scene.context, up(near, 32), std::max(up(middle, 1024), up(near, 32)), nearCausal};
        const Coverage coverage(scene.context, scene.rows, attention, {near, middle, nearCausal});
        std::vector<int> asked(scene.rows.size());
        for (const QueryBlock& block : coverage.blocks(0, static_cast<std::int32_t>(scene.rows.size())))
          for (std::size_t q = 0; q < block.queries.size(); ++q) {
            ++asked[at(block.queries[q])];
            if (attention == WlodAttention::Flat && q % 97) continue;
            const QByteArray said = flawOf(scene, definition, block, q, attention == WlodAttention::Flat);
            QVERIFY2(said.isEmpty(), said + ", seed " + QByteArray::number(seed));
          }
        QVERIFY(std::all_of(asked.begin(), asked.end(), [](int n) { return n == 1; }));
      }
  }

  void partsOfAPassAreThePass() {
    const Scene scene(3, 4000, WlodAttention::Pyramid);
    const Coverage coverage(scene.context, scene.rows, WlodAttention::Pyramid, {64, 1024, true});
    const auto count = static_cast<std::int32_t>(scene.rows.size());
    std::map<std::int32_t, std::vector<WlodRow>> whole, parts;
    const auto collect = [&](std::int32_t from, std::int32_t to, auto& out) {
      for (const QueryBlock& block : coverage.blocks(from, to))
        for (std::size_t q = 0; q < block.queries.size(); ++q) out[block.queries[q]] = seenBy(block, q, scene.rows);
    };
    collect(0, count, whole);
    for (std::int32_t from = 0; from < count; from += 100) collect(from, std::min(from + 100, count), parts);
    QVERIFY(whole == parts);
  }

  void rowsComeAfterWhatTheySee() {
    const Scene scene(5, 6000, WlodAttention::Pyramid);
    for (std::size_t i = 1; i < scene.rows.size(); ++i)
      QVERIFY(scene.rows[i - 1].node.end() <= scene.rows[i].node.end());
    const Coverage coverage(scene.context, scene.rows, WlodAttention::Pyramid, {256, 4096, true});
    for (const QueryBlock& block : coverage.blocks(0, static_cast<std::int32_t>(scene.rows.size())))
      for (std::size_t q = 0; q < block.queries.size(); ++q)
        for (std::int32_t i = 0; i < block.seen[q]; ++i) QVERIFY(block.rows[at(i)] <= block.queries[q]);
  }

  void randomEditsKeepTheTiling() {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      std::mt19937 random(seed);
      WorkingContext context = tokens(3000);
      const WorkingRules rules{3000, 128, 2};
      int done = 0, refused = 0;
      for (int i = 0; i < 300; ++i) {
        std::vector<LodEdit> edits;
        for (unsigned k = 0; k <= random() % 3; ++k) {
          const int level = random() % 4 ? 1 : static_cast<int>(random() % 3);
          edits.push_back(
              {random() % 4 == 0,
               {level,
                static_cast<std::int32_t>(random() % 100) * spanOf(std::max(1, level)) + (random() % 20 ? 0 : 5)}});
        }
        const std::vector<TreeNode> before(context.entries().begin(), context.entries().end());
        const auto next = context.edited(edits, rules);
        QVERIFY(std::equal(before.begin(), before.end(), context.entries().begin(), context.entries().end()));
        (next ? done : refused)++;
        if (!next) {
          QVERIFY2(!next.error().code.empty() && !next.error().why.empty() && !next.error().remedy.empty() &&
                       next.error().action,
                   next.error().text().c_str());
          if (random() % 2) context = context.nextRound();
          continue;
        }
        QVERIFY(next->context.cost() <= rules.budget);
        QCOMPARE(QString::fromStdString(flaw(next->context, 3000)), QString());
        // Putting the swaps in gives the new entries: nothing but them changed.
        std::vector<TreeNode> patched;
        std::int32_t taken = 0;
        for (const Swap& swap : next->swaps) {
          patched.insert(patched.end(), before.begin() + taken, before.begin() + swap.beginBefore);
          QCOMPARE(static_cast<std::int32_t>(patched.size()), swap.beginAfter);
          for (std::int32_t e = 0; e < swap.countAfter; ++e)
            patched.push_back(next->context.entries()[at(swap.beginAfter + e)]);
          taken = swap.beginBefore + swap.countBefore;
          QCOMPARE(patched.back().end(), swap.moments.end);
        }
        patched.insert(patched.end(), before.begin() + taken, before.end());
        QVERIFY(
            std::equal(patched.begin(), patched.end(), next->context.entries().begin(), next->context.entries().end()));
        context = next->context;
      }
      QVERIFY2(done > 20 && refused > 20, qPrintable(QString::number(done)));
    }
  }

  /// Clean rows see the same rows as before the edit, and have the same values.
  void cleanRowsSawNothingOfTheEdit() {
    for (unsigned seed = 1; seed <= 12; ++seed) {
      Scene scene(seed, 5000, WlodAttention::Pyramid);
      const WorkingContext edited = shuffled(scene.context, scene.random, 1 + static_cast<int>(seed % 4));
      std::vector<TimelineChange> changes;
      for (const Swap& swap : differences(scene.context.entries().span(), edited.entries().span()))
        changes.push_back({swap.moments, false});
      const std::vector<WlodRow> after = wlodRows(edited, WlodAttention::Pyramid);
      const Invalidation found = invalidate(scene.rows, after, changes);
      const PyramidRules rules{64, 1024, seed % 2 == 0};
      const Coverage was(scene.context, scene.rows, WlodAttention::Pyramid, rules),
          is(edited, after, WlodAttention::Pyramid, rules);
      QCOMPARE(found.firstDirty,
               static_cast<std::int32_t>(std::count(found.why.begin(), found.why.end(), DirtyWhy::Clean)));
      std::map<std::int32_t, std::vector<WlodRow>> before, now;
      for (const QueryBlock& block :
           was.blocks(0, std::min(found.firstDirty, static_cast<std::int32_t>(scene.rows.size()))))
        for (std::size_t q = 0; q < block.queries.size(); ++q) before[block.queries[q]] = seenBy(block, q, scene.rows);
      for (const QueryBlock& block : is.blocks(0, found.firstDirty))
        for (std::size_t q = 0; q < block.queries.size(); ++q) now[block.queries[q]] = seenBy(block, q, after);
      QVERIFY(before == now);
      for (std::int32_t i = 0; i < found.firstDirty; ++i) QVERIFY(scene.rows[at(i)] == after[at(i)]);
    }
  }

  void theAllocatorStaysWithinItsRules() {
    for (unsigned seed = 1; seed <= 30; ++seed) {
      std::mt19937 random(seed);
      WorkingContext context = shuffled(tokens(4000), random, 200);
      const WorkingRules rules{context.cost() + static_cast<std::int32_t>(random() % 80), 128, 2};
      for (int round = 0; round < 10; ++round) {
        std::vector<double> scores;
        for (std::int32_t i = 0; i < context.cost(); ++i)
          scores.push_back(static_cast<double>(random() % 1999) / 1000.0 - 0.999);
        const auto decided = refocus(context, scores, {0.2, -0.9, 4}, rules);
        QVERIFY2(bool(decided), decided ? "" : decided.error().text().c_str());
        QVERIFY(decided->edits.size() <= 4);
        const auto next = context.edited(decided->edits, rules);
        QVERIFY2(bool(next), next ? "" : next.error().text().c_str());
        QCOMPARE(next->context.cost(), decided->round.after);
        QVERIFY(std::all_of(decided->round.decisions.begin(), decided->round.decisions.end(),
                            [](const FocusDecision& d) { return !d.code.empty() && !d.reason.empty(); }));
        context = next->context.nextRound();
      }
    }
  }
};

KV_TEST(WlodTest)
#include "wlod_test.moc"
