// SPDX-License-Identifier: Apache-2.0
// Intervals, the plot and the report of sweeps, on rows that the test writes.
#include <cmath>

#include "core/api/sweep_table.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

/// A cell with these scores of stories.
SweepRow scoredRow(std::vector<std::pair<double, int>> scores) {
  SweepRow row;
  row.prompts = "p";
  row.ask = "after";
  row.axes = {{"policy", "h2o"}};
  row.budget = SweepBudget{true, 0.25};
  row.byScore = std::move(scores);
  row.setMeasure("score", 0.5);
  row.setMeasure("bytes_live", 1000);
  return row;
}

bool saysSo(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

}  // namespace

class SweepReportTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void wilsonsInterval() {
    const auto [low, high] = wilson(81, 263);
    QVERIFY(std::abs(low - 0.2553) < 5e-5 && std::abs(high - 0.3662) < 5e-5);
    const auto [none, some] = wilson(0, 20);
    QVERIFY(none < 1e-12 && std::abs(some - 0.1611) < 5e-5);
  }

  /// Five right answers of five leave room for wrong ones.
  void proportionsHaveWilsonsInterval() {
    const std::vector<std::pair<double, int>> right(5, {1, 1});
    QCOMPARE(meanInterval(right), wilson(5, 5));
    QVERIFY(meanInterval(right).first < 0.6);
    const SweepRow row = scoredRow({{1, 1}, {0, 1}, {1, 1}});
    const std::vector<SweepRow> rows{row, row};
    const SweepPoint point = sweepPoints(rows).front();
    QCOMPARE(std::pair(point.scoreLow, point.scoreHigh), wilson(4, 6));
    SweepRow asked = row;
    asked.byStory = {{1, 1}, {1, 1}, {1, 1}};
    const SweepPoint recalled = sweepPoints(std::vector{asked}).front();
    QCOMPARE(std::pair(recalled.low, recalled.high), wilson(3, 3));
  }

  /// Parts of answers, and several questions about one story, are no proportion of independent draws.
  void otherMeansHaveABootstrap() {
    const std::vector<std::pair<double, int>> parts{{0.5, 1}, {0.25, 1}, {1, 1}}, several{{2, 2}, {0, 2}, {2, 2}};
    QCOMPARE(meanInterval(parts), std::pair(0.25, 1.0));
    QCOMPARE(meanInterval(several), std::pair(0.0, 1.0));
    const std::vector<std::pair<double, int>> equal{{0.5, 1}, {0.5, 1}};
    QCOMPARE(meanInterval(equal), std::pair(0.5, 0.5));
    QCOMPARE(meanInterval({}), std::pair(0.0, 1.0));
  }

  void thePlotHasWhatWasMeasured() {
    SweepRow row = scoredRow({{1, 1}});
    row.answers.resize(1);
    const auto plot = [&] { return paretoSvg("t", sweepPoints(std::vector{row})); };
    const std::string scores = plot();
    QVERIFY(saysSo(scores, "Score against budget") && !saysSo(scores, "KL against bytes"));
    row.setMeasure("kl_mean", 0.1);
    const std::string both = plot();
    QVERIFY(saysSo(both, "Score against budget") && saysSo(both, "KL against bytes"));
    row.byScore.clear();
    const std::string kl = plot();
    QVERIFY(!saysSo(kl, "against budget") && saysSo(kl, "KL against bytes"));
    const auto width = [](const std::string& svg) { return std::stod(svg.substr(svg.find("width=\"") + 7)); };
    QVERIFY(width(both) > width(scores) && width(scores) == width(kl));
    QVERIFY(saysSo(paretoSvg("t", {}), "no cells"));
  }

  void theReportSaysHowToOpenACell() {
    SweepRow row = scoredRow({{1, 1}}), failed = scoredRow({});
    row.index = 17;
    row.answers.resize(1);
    row.answers[0].score = 1;
    failed.index = 18;
    failed.error = Error("capacity", "no <room>", "why", "remedy");
    const std::vector<SweepRow> rows{row, failed};
    const std::string html = sweepHtml("t", rows, sweepPoints(rows));
    QVERIFY(saysSo(html, "<code>kvlab sweep . --cell 17:0</code>") && !saysSo(html, "--cell 18"));
    QVERIFY(saysSo(html, "failed: no &lt;room&gt;") && !saysSo(html, "KL against bytes"));
  }
};

KV_TEST(SweepReportTest)
#include "sweep_report_test.moc"
