// SPDX-License-Identifier: Apache-2.0
// Several edits in one list: one of them alone, and the inputs of each row.
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

const json kScattered = {
    {{"action", "replace"}, {"positions", {0, 2, 5}}, {"new_token_ids", {21, 22, 23}}},
    {{"action", "delete"}, {"position", 1}},
    {{"action", "insert"}, {"position", 4}, {"token_ids", {31}}},
    {{"action", "replace_pair"}, {"original_pos1", 6}, {"original_pos2", 7}, {"new_token_ids", {41}}}};

/// Every row with the label exact equals the row that a rebuild computes.
QString wronglyExact(SessionFixture& s) {
  const Result<Drift> drift = measureDrift(*s);
  if (!drift) return QString::fromStdString(drift.error().text());
  const ExactnessMap& map = exactnessMap(*s);
  for (std::size_t layer = 0; layer < map.layers.size(); ++layer)
    for (std::size_t i = 0; i < map.layers[layer].size(); ++i)
      if (map.layers[layer][i] == Exactness::Exact && (drift->kRows[layer][i] > 0 || drift->vRows[layer][i] > 0))
        return QStringLiteral("row %1 of layer %2").arg(i).arg(layer);
  return {};
}

}  // namespace

class EditOrderTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  /// One action after the other leads to the tokens of all at once: those that wait follow their tokens.
  void oneActionOfSeveral() {
    SessionFixture together, apart;
    for (SessionFixture* s : {&together, &apart}) {
      s->must("promptIds", {{"ids", {3, 4, 5, 6, 7, 8, 9, 10, 11}}});
      s->must("inject", {{"actions", kScattered}});
    }
    QVERIFY(together.must("apply")["ok"]);
    for (std::size_t i = 0; i < kScattered.size(); ++i) {
      const json report = apart.must("stepAction");
      QVERIFY2(report["ok"], report.dump().c_str());
    }
    QVERIFY(apart->pending().empty());
    QCOMPARE(apart.tokens(), together.tokens());
    apart.must("undo");
    QCOMPARE(apart->pending().size(), std::size_t{0});
  }

  /// The descending executor computes a new row before it deletes rows further left.
  void rowsBeforeADeletionAreStale() {
    SessionFixture s(json{{"executor", "descending"}});
    s.must("promptIds", {{"ids", {67}}});
    s.must("inject",
           {{"actions",
             {{{"action", "insert"}, {"position", 1}, {"token_ids", {53}}}, {{"action", "delete"}, {"position", 0}}}}});
    QVERIFY(s.must("apply")["ok"]);
    QVERIFY(s->state().edited);
    QVERIFY(measureDrift(*s)->worstLayer.has_value());
    QCOMPARE(wronglyExact(s), QString());
  }

  /// An eviction left of a window moves the rows in it to other indices, where attention adds them up in other blocks.
  void evictionsLeftOfAWindow() {
    SessionFixture s(json{{"model", "synthetic:tiny-gemma"}, {"dtype", "f32"}});
    s.prompt(94);
    s.must("evict", {{"layer", 0}, {"ledger", {2, 7, 31}}, {"now", true}});
    QCOMPARE(wronglyExact(s), QString());
    const auto& rows = exactnessMap(*s).layers[1];
    QVERIFY(std::count(rows.begin(), rows.end(), Exactness::Exact) > 0);
  }
};

KV_TEST(EditOrderTest)
#include "edit_order_test.moc"
