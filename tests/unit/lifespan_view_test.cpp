// SPDX-License-Identifier: Apache-2.0
// Predictions of gates beside the findings of a recording: each row with its own prediction, gone or not; figures
// against a second computation; refusals, and the data that stay untouched.
#include "support/gate_file.h"
#include "support/session_fixture.h"

#include <QTemporaryDir>
#include <cmath>

#include "core/analysis/lifespans.h"
#include "core/session/truth.h"
#include "support/runner.h"

using namespace kvlab;

class LifespanViewTest : public QObject {
  Q_OBJECT
  QTemporaryDir m_folder;

  nlohmann::json gated() const {
    const std::string path = m_folder.filePath("gates.safetensors").toStdString();
    if (!GateFile(SessionFixture()->model().config(), 24).write(path)) return {};
    return {{"policy", {{"name", "smartkv"}, {"sinks", 2}, {"window", 5}, {"budget", 13}, {"gates", path}}}};
  }

 private Q_SLOTS:
  void pairsAreOfTheSameRow() {
    SessionFixture s(gated());
    s.prompt(60);
    s.must("step", {{"n", 12}});
    const std::string before = stateHash(*s);
    QVERIFY(s.must("lifespans", nlohmann::json::object()).is_null());
    const nlohmann::json figures = s.must("measureLifespans", {{"points", 1000}});
    QCOMPARE(stateHash(*s), before);
    const LifespanView& view = *s->watching().lifespans;
    LifespanRules rules;
    rules.keys = false;
    const Result<Lifespans> found = recordLifespans(*s, rules);
    QVERIFY(static_cast<bool>(found));
    const auto rows = static_cast<std::size_t>(s->state().length()), heads = static_cast<std::size_t>(found->kvHeads);
    QCOMPARE(view.layers.size(), found->layers.size());
    int gone = 0;
    for (std::size_t l = 0; l < view.layers.size(); ++l) {
      gone += static_cast<int>(rows - s->state().map(CacheLayer(static_cast<int>(l))).resident());
      for (std::size_t h = 0; h < heads; ++h) {
        const HeadLifespans& head = view.layers[l][h];
        QCOMPARE(head.predicted.size(), rows);  // rows that have left keep their prediction
        double sum = 0, squares = 0, error = 0, n = 0;
        for (std::size_t p = 0; p < rows; ++p) {
          const auto id = static_cast<std::size_t>(s->state().context[p].value());
          QCOMPARE(head.predicted[p], s->state().gateScores[l][id * heads + h]);
          QCOMPARE(head.actual[p], found->layers[l].label[h * rows + p]);
          QCOMPARE(head.cut[p] != 0, found->layers[l].censored[h * rows + p] != 0);
          if (head.cut[p]) continue;
          const double actual = head.actual[p], off = head.predicted[p] - actual;
          ++n, sum += actual, squares += actual * actual, error += off * off;
        }
        QCOMPARE(head.rows - head.censored, static_cast<int>(n));
        const double spread = squares - sum * sum / n;
        if (spread > 1e-9) QVERIFY(std::abs(head.r2 - (1 - error / spread)) < 1e-6 * std::max(1.0, std::abs(head.r2)));
        QCOMPARE(figures["layers"][l][h]["rows"], nlohmann::json(head.rows));
        QVERIFY(!figures["layers"][l][h].contains("points"));
      }
    }
    QVERIFY(gone > 0);
  }

  void theSameIsNotSentTwice() {
    SessionFixture s(gated());
    s.prompt(40);
    QCOMPARE(s.must("measureLifespans", {{"points", 7}})["serial"], nlohmann::json(1));
    const nlohmann::json whole = s.must("lifespans", {{"since", 0}});
    QCOMPARE(whole["layers"][0][0]["points"]["predicted"].size(), std::size_t{7});
    QCOMPARE(s.must("lifespans", {{"since", 1}}), (nlohmann::json{{"serial", 1}}));
    s.must("step", {{"n", 2}});
    QCOMPARE(s.must("lifespans", nlohmann::json::object()), whole);  // says when it was made
    s.must("measureLifespans", nlohmann::json::object());
    QCOMPARE(s.must("lifespans", {{"since", 1}})["serial"], nlohmann::json(2));
  }

  void withoutGatesItIsRefused() {
    SessionFixture s;
    s.prompt(20);
    const auto refused = s.verb("measureLifespans", nlohmann::json::object());
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, std::string("no_gates"));
    QVERIFY(refused.error().remedy.find("smartkv") != std::string::npos);
  }
};

KV_TEST(LifespanViewTest)
#include "lifespan_view_test.moc"
