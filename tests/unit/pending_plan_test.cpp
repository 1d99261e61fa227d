// SPDX-License-Identifier: Apache-2.0
// The plan of the pending list, as snapshots show it: it matches the commit that follows, and lists can replace another
// one.
#include <set>

#include "core/session/publisher.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

const json kThree = {{{"action", "replace"}, {"positions", {4}}, {"new_token_ids", {21, 22}}},
                     {{"action", "delete"}, {"position", 9}},
                     {{"action", "evict"}, {"layer", 1}, {"ledger", {2, 3}}}};

/// Ledger ids of the rows that the plan calls stale.
std::set<int> staleIn(const PlanView& plan, const CacheState& before) {
  std::set<int> out;
  for (const PositionRun& run : plan.stale)
    for (std::int32_t p = run.begin; p < run.end; ++p) out.insert(before.context[static_cast<std::size_t>(p)].value());
  return out;
}

}  // namespace

class PendingPlanTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  /// Rows that go, rows that come, rows that the edit of the context leaves stale, and rows that one layer loses.
  void thePlanIsWhatTheCommitDoes() {
    SessionFixture s(json{{"sampling", {{"seed", 7}}}});
    s->setPublish([](const SnapshotPtr&) {});
    s.prompt(20);
    QVERIFY(!s->snapshot()->plan);
    s.must("inject", {{"actions", json::array({kThree[0], kThree[1]})}});
    const std::shared_ptr<const PlanView> plan = s->snapshot()->plan;
    QVERIFY(plan && !plan->refused);
    const CacheState before = s->state();
    s.must("apply");
    const CacheState& after = s->state();
    QVERIFY(!s->snapshot()->plan);
    QCOMPARE(plan->lengthBefore, 20);
    QCOMPARE(plan->lengthAfter, after.length());
    QCOMPARE(plan->newRows, 2);
    QCOMPARE(plan->edits.size(), std::size_t{2});
    QCOMPARE(plan->edits[0].removed, std::vector<Position>{Position(4)});
    QCOMPARE(plan->edits[1].removed, std::vector<Position>{Position(9)});
    QCOMPARE(plan->edits[0].newLedger, (std::vector<LedgerId>{LedgerId(20), LedgerId(21)}));
    QCOMPARE(after.context[static_cast<std::size_t>(plan->edits[0].finalPosition.value())], LedgerId(20));
    std::set<int> stale;
    const std::vector<Exactness>& last = exactnessMap(*s).layers.back();
    for (std::size_t p = 0; p < last.size(); ++p)
      if (last[p] != Exactness::Exact) stale.insert(after.context[p].value());
    QCOMPARE(staleIn(*plan, before), stale);
    QCOMPARE(plan->staleRows, static_cast<std::int32_t>(stale.size()));
  }

  void anEvictionNamesItsLayer() {
    SessionFixture s;
    s->setPublish([](const SnapshotPtr&) {});
    s.prompt(20);
    s.must("inject", {{"actions", kThree}});
    QCOMPARE(s->snapshot()->plan->evictions.size(), std::size_t{1});
    QCOMPARE(s->snapshot()->plan->evictions[0].layer, CacheLayer(1));
    QCOMPARE(s->snapshot()->plan->evictions[0].ledger, (std::vector<LedgerId>{LedgerId(2), LedgerId(3)}));
  }

  /// Rows that are computed again do not become stale.
  void recomputedRowsAreNotStale() {
    SessionFixture s(json{{"after_edit", "recompute"}});
    s->setPublish([](const SnapshotPtr&) {});
    s.prompt(20);
    s.must("inject", {{"actions", kThree}});
    QVERIFY(s->snapshot()->plan->stale.empty());
    QCOMPARE(s->snapshot()->plan->staleRows, 0);
    QVERIFY(s->snapshot()->plan->recomputed > 0);
  }

  /// A list that no longer fits the context says why.
  void aRefusedListSaysWhy() {
    SessionFixture s;
    s->setPublish([](const SnapshotPtr&) {});
    s.prompt(12);
    s.prompt(8, 6);
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 15}}}}});
    s.must("undo");
    s->setPending({Delete{Position(15)}});
    s->publish();
    const std::shared_ptr<const PlanView> plan = s->snapshot()->plan;
    QVERIFY(plan && plan->refused);
    QCOMPARE(plan->refused->code, std::string("out_of_range"));
    QVERIFY(plan->edits.empty() && plan->stale.empty());
  }

  void aListTakesTheOthersPlace() {
    SessionFixture s;
    s.prompt(20);
    s.must("inject", {{"actions", kThree}});
    QCOMPARE(s.must("plan", {{"actions", json::array({kThree[1]})}, {"instead", true}})["lengthAfter"], json(19));
    QVERIFY(!s.verb("plan", {{"actions", json::array({kThree[1]})}}));  // behind the same one it is edited twice
    QCOMPARE(s.must("inject", {{"actions", json::array({kThree[1]})}, {"instead", true}})["pending"], json(1));
    QCOMPARE(s->pending().size(), std::size_t{1});
    const Result<json> wrong =
        s.verb("inject", {{"actions", {{{"action", "delete"}, {"position", 99}}}}, {"instead", true}});
    QVERIFY(!wrong);
    QCOMPARE(wrong.error().action, std::optional<int>(0));
    QCOMPARE(s->pending().size(), std::size_t{1});
    QVERIFY(std::holds_alternative<Delete>(s->pending().front()));
  }

  /// A tick that fails gives back the list that was there.
  void aFailedTickGivesTheListBack() {
    SessionFixture s(json{{"faults", true}});
    s.prompt(20);
    s.must("inject", {{"actions", kThree}});
    s.must("fault", {{"kind", "kernel"}, {"n", 1}});
    const Result<json> failed =
        s.verb("inject", {{"actions", json::array({kThree[0]})}, {"now", true}, {"instead", true}});
    QVERIFY(!failed);
    QCOMPARE(s->pending().size(), std::size_t{3});
  }
};

KV_TEST(PendingPlanTest)
#include "pending_plan_test.moc"
