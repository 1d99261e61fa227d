// SPDX-License-Identifier: Apache-2.0
// Models whose rotary frequencies follow the length of the context: rows from before a change are named, drift agrees,
// and a rebuild makes them exact.
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

std::vector<int> someTokens(int count) {
  std::vector<int> out;
  for (const int id : SessionFixture::ids(count)) out.push_back(3 + id % 90);
  return out;
}

int countOf(const std::vector<Exactness>& rows, Exactness which) {
  return static_cast<int>(std::count(rows.begin(), rows.end(), which));
}

}  // namespace

class TurnedRowsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void rowsOfAnotherLengthAreNamed_data() {
    QTest::addColumn<QString>("name");
    QTest::newRow("longrope") << "phi3_long_f32";  // both change behind 24 tokens
    QTest::newRow("dynamic") << "llama_dynamic_f32";
  }
  void rowsOfAnotherLengthAreNamed() {
    QFETCH(QString, name);
    SessionFixture s(json{{"model", std::string(KVLAB_TESTS_DIR) + "/oracle/models/" + name.toStdString()},
                          {"key_phase", "on_read"}});
    s.must("promptIds", {{"ids", someTokens(20)}});
    s.must("step", {{"tokens", someTokens(4)}});
    QCOMPARE(countOf(exactnessMap(*s).layers[1], Exactness::Exact), 24);
    QCOMPARE(s.must("drift")["v"][1], 0.0);

    s.must("step", {{"tokens", {7}}});
    const ExactnessMap behind = exactnessMap(*s);
    QCOMPARE(countOf(behind.layers[0], Exactness::Exact), 25);
    QCOMPARE(countOf(behind.layers[1], Exactness::PhaseShifted), 24);
    QCOMPARE(behind.layers[1].back(), Exactness::Exact);
    QVERIFY(s.must("drift")["v"][1] > 1e-3);

    s.must("rebuild");
    QCOMPARE(countOf(exactnessMap(*s).layers[1], Exactness::Exact), 25);
    QCOMPARE(s.must("drift")["v"][1], 0.0);
    s.must("undo");
    QCOMPARE(countOf(exactnessMap(*s).layers[1], Exactness::PhaseShifted), 24);
  }

  /// Beyond the change, longrope stays as it is, and dynamic NTK changes with each token.
  void furtherTokens() {
    for (const auto& [name, shifted] : {std::pair{"phi3_long_f32", 0}, {"llama_dynamic_f32", 30}}) {
      SessionFixture s(json{{"model", std::string(KVLAB_TESTS_DIR) + "/oracle/models/" + name}});
      s.must("promptIds", {{"ids", someTokens(30)}});
      s.must("step", {{"tokens", {7}}});
      QCOMPARE(countOf(exactnessMap(*s).layers[1], Exactness::PhaseShifted), shifted);
    }
  }
};

KV_TEST(TurnedRowsTest)
#include "turned_rows_test.moc"
