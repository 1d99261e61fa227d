// SPDX-License-Identifier: Apache-2.0
// Cells of a sweep, opened again at the moment of an answer.
#include <QTemporaryDir>
#include <fstream>

#include "core/experiment/sweep_moment.h"
#include "support/runner.h"
#include "unit/sweep_runs.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::json;

namespace {

json momentSpec() {
  return {{"name", "moments"},
          {"base", {{"model", "synthetic:tiny"}, {"capacity", 600}}},
          {"axes",
           {{{"name", "policy"},
             {"key", "policy"},
             {"values", {{{"label", "full"}, {"value", "full"}, {"without", {"budget"}}}, "random", "h2o", "tova"}}},
            {{"name", "budget"}, {"budget", "ratio"}, {"values", {0.25, 0.5}}}}},
          {"seeds", {1, 2}},
          {"prompts",
           {{{"task", {"needle_single_1", "frequent_words"}}, {"length", 420}, {"samples", 2}, {"max_new_tokens", 6}}}},
          {"measure", {"recall", "answers"}}};
}

std::vector<SweepRow> sweptInto(const std::string& out, const json& given) {
  Result<SweepOutcome> outcome = runSweep(parsedSweep(given), into(out));
  if (!outcome) qFatal("%s", outcome.error().text().c_str());
  return std::move(outcome->rows);
}

std::string cellRefusal(const SweepPlace& place) {
  const auto moment = openSweepCell(place, KVLAB_RESOURCES_DIR);
  return moment ? std::string() : moment.error().code;
}

}  // namespace

class SweepMomentTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void placesAreRead() {
    const auto place = sweepPlace("f", "17:2");
    QVERIFY(place && place->folder == "f" && place->cell == 17 && place->question == 2);
    QCOMPARE(sweepPlace("f", "3")->question, 0);
    for (const char* bad : {"", "a", "-1", "1:", "1:-2", "1:2:3", " 1", "99999999999999999999"})
      QCOMPARE(sweepPlace("f", bad).error().code, std::string("bad_argument"));
  }

  /// Every answer of every cell comes again, and the session stands where it was given.
  void cellsGiveTheirAnswers() {
    const QTemporaryDir folder;
    const std::string out = folder.filePath("o").toStdString();
    for (const SweepRow& row : sweptInto(out, momentSpec()))
      for (int question = 0; question < 2; ++question) {
        const auto moment = openSweepCell({out, row.index, question}, KVLAB_RESOURCES_DIR);
        QVERIFY2(moment, moment ? "" : moment.error().text().c_str());
        QCOMPARE(moment->row.id, row.id);
        QVERIFY(moment->reported && moment->reported->story == question);
        QVERIFY(moment->found->ids == row.answers[static_cast<std::size_t>(question)].ids);
        QVERIFY(moment->same());
        QVERIFY(moment->session->state().length() > 300);
        QVERIFY(moment->session->manifest().historyBytes > 0);
      }
  }

  /// A cell that only recalls is fed the right answer.
  void questionsInsideAndWithoutAnswers() {
    const QTemporaryDir folder;
    const std::string out = folder.filePath("o").toStdString();
    json given = momentSpec();
    given["prompts"] = {
        {{"task", "needle_single_1"}, {"length", 420}, {"samples", 1}, {"ask", "inside"}, {"max_new_tokens", 4}}};
    for (const SweepRow& row : sweptInto(out, given))
      QVERIFY(openSweepCell({out, row.index}, KVLAB_RESOURCES_DIR)->same());
    given["measure"] = {"recall"};
    sweptInto(out + "2", given);
    const auto moment = openSweepCell({out + "2", 1}, KVLAB_RESOURCES_DIR);
    QVERIFY(moment && !moment->reported && !moment->found && moment->same());
  }

  void blocksOfTokensAreFedOneByOne() {
    const QTemporaryDir folder;
    const std::string out = folder.filePath("o").toStdString();
    json given = momentSpec();
    given["base"].update({{"layout", "ring_fused"}, {"ring", {{"window", 64}, {"block_tokens", 4}}}});
    given["axes"] = json::array();
    given["seeds"] = {1};
    for (const SweepRow& row : sweptInto(out, given)) {
      const auto moment = openSweepCell({out, row.index, 1}, KVLAB_RESOURCES_DIR);
      QVERIFY2(moment, moment ? "" : moment.error().text().c_str());
      QVERIFY(moment->same());
    }
  }

  void refusalsHaveAReason() {
    const QTemporaryDir folder;
    const std::string out = folder.filePath("o").toStdString(), prompts = folder.filePath("p.jsonl").toStdString();
    std::ofstream(prompts) << R"({"context": "Ada lives in Bern.", "question": "Where?", "answers": ["Bern"]})"
                           << "\n";
    json given = momentSpec();
    given["axes"] = {{{"name", "policy"}, {"key", "policy"}, {"values", {"full", "oracle"}}}};
    given["seeds"] = {1};
    given["prompts"] = {{{"name", "p"}, {"file", prompts}, {"max_new_tokens", 3}}};
    QCOMPARE(cellRefusal({out, 0}), std::string("bad_file"));
    sweptInto(out, given);
    QCOMPARE(cellRefusal({out, 0}), std::string());
    QCOMPARE(cellRefusal({out, 0, 1}), std::string("bad_argument"));
    QCOMPARE(cellRefusal({out, -1}), std::string("bad_argument"));
    QCOMPARE(cellRefusal({out, 2}), std::string("bad_argument"));
    QCOMPARE(cellRefusal({out, 1}), std::string("unsupported"));
    std::ofstream(prompts, std::ios::app) << R"({"context": "x y", "question": "z?", "answers": ["u"]})"
                                          << "\n";
    QCOMPARE(cellRefusal({out, 0}), std::string("sweep_changed"));
    std::ofstream(out + "/journal.jsonl") << "0123456789abcdef {\"sp\n";
    QCOMPARE(cellRefusal({out, 0}), std::string("bad_journal"));
  }
};

KV_TEST(SweepMomentTest)
#include "sweep_moment_test.moc"
