// SPDX-License-Identifier: Apache-2.0
// Conditions about one row: its token changes, it becomes stale, the newest query reads it.
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

const json kReplace = {{{"action", "replace"}, {"positions", {8}}, {"new_token_ids", {21}}}};

/// The condition at which one tick with the pending actions stops; empty = none.
std::string stop(SessionFixture& s, const std::string& condition, const json& actions) {
  s.must("clearBreaks");
  s.must("break", {{"condition", condition}});
  if (!actions.empty()) s.must("inject", {{"actions", actions}});
  const json tick = s.must("step")[0];
  const std::string hit = tick.value("stoppedBy", std::string());
  s.must("undo");
  return hit;
}

}  // namespace

class RowBreaksTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void conditions_data() {
    QTest::addColumn<QString>("condition");
    QTest::addColumn<QString>("actions");
    QTest::addColumn<bool>("stops");
    const QString replace = QString::fromStdString(kReplace.dump());
    const QString remove = R"([{"action":"delete","position":8}])";
    QTest::newRow("replaced is changed") << "changed(ledger==8)" << replace << true;
    QTest::newRow("deleted is changed") << "changed(ledger==8)" << remove << true;
    QTest::newRow("another row is changed") << "changed(ledger==7)" << replace << false;
    QTest::newRow("behind an edit") << "stale(ledger==9)" << replace << true;
    QTest::newRow("before an edit") << "stale(ledger==7)" << replace << false;
    QTest::newRow("without an edit") << "stale(ledger==9)"
                                     << "[]" << false;
    QTest::newRow("evicted is not changed") << "changed(ledger==8)"
                                            << R"([{"action":"evict","layer":0,"ledger":[8]}])" << false;
  }
  void conditions() {
    QFETCH(QString, condition);
    QFETCH(QString, actions);
    QFETCH(bool, stops);
    SessionFixture s;
    s.prompt(20);
    const std::string hit = stop(s, condition.toStdString(), json::parse(actions.toStdString()));
    QCOMPARE(QString::fromStdString(hit), stops ? condition : QString());
  }

  /// A row that is stale already does not become stale.
  void staleOnce() {
    SessionFixture s;
    s.prompt(20);
    s.must("break", {{"condition", "stale(ledger==9)"}});
    s.must("inject", {{"actions", kReplace}});
    QCOMPARE(s.must("step")[0]["stoppedBy"], json("stale(ledger==9)"));
    QVERIFY(!s.must("step")[0].contains("stoppedBy"));
  }

  /// More than an equal share of the last layer's attention, as the tile of the tick shows it.
  void readIsMoreThanAnEqualShare() {
    SessionFixture s;
    s.prompt(20);
    s.must("step");
    int read = 0, unread = 0;
    const NewestAttention& seen = *s->state().attention;
    const std::vector<float> mass = seen.mass.back();
    const ResidencyView map = *seen.maps.back();
    s.must("undo");
    for (std::size_t i = 0; i < 20; ++i) {
      const std::string condition = "read(ledger==" + std::to_string(map.ledger[i].value()) + ")";
      const bool more = mass[i] * static_cast<float>(map.resident() + 1) > 1;
      QCOMPARE(stop(s, condition, json::array()), more ? condition : std::string());
      ++(more ? read : unread);
    }
    QVERIFY(read > 0 && unread > 0);
  }
};

KV_TEST(RowBreaksTest)
#include "row_breaks_test.moc"
