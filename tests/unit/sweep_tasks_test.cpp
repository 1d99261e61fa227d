// SPDX-License-Identifier: Apache-2.0
// Sweeps over generated tasks: the specification, generated answers, and files that depend on nothing else.
#include <QTemporaryDir>
#include <filesystem>
#include <fstream>

#include "core/experiment/sweep_runner.h"
#include "core/session/ticks.h"
#include "core/tasks/string_match.h"
#include "core/verbs/verbs.h"
#include "support/runner.h"
#include "unit/sweep_runs.h"

using namespace kvlab;
using namespace kvlab::test;
using Json = nlohmann::ordered_json;
using nlohmann::json;

namespace {

json taskSpec() {
  return {{"name", "tasks"},
          {"base", {{"model", "synthetic:tiny"}, {"capacity", 1200}, {"kv", {{"k", "f32"}, {"v", "f32"}}}}},
          {"axes",
           {{{"name", "policy"},
             {"key", "policy"},
             {"values", {{{"label", "full"}, {"value", "full"}, {"without", {"budget"}}}, "streaming_llm", "h2o"}}},
            {{"name", "budget"}, {"budget", "ratio"}, {"values", {0.25}}}}},
          {"seeds", {1, 2}},
          {"prompts",
           {{{"task", {"needle_single_1", "frequent_words"}},
             {"length", 420},
             {"depth", 3},
             {"samples", 2},
             {"max_new_tokens", 5}}}}};
}

std::vector<Json> linesIn(const std::string& path) {
  std::vector<Json> out;
  std::istringstream in(contents(path));
  for (std::string line; std::getline(in, line);) out.push_back(Json::parse(line));
  return out;
}

SweepOutcome swept(const json& given, const SweepOptions& options) {
  Result<SweepOutcome> outcome = runSweep(parsedSweep(given), options);
  if (!outcome) qFatal("%s", outcome.error().text().c_str());
  for (const SweepRow& row : outcome->rows)
    if (row.error) qFatal("%s", row.error->text().c_str());
  return outcome.take();
}

std::string allFiles(const std::string& folder) {
  std::string out;
  for (const char* name :
       {"questions.jsonl", "answers.jsonl", "report.html", "results.jsonl", "results.csv", "summary.csv", "pareto.svg"})
    out += contents(folder + "/" + name);
  return out;
}

}  // namespace

class SweepTasksTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void tasksBecomePromptSets() {
    json given = taskSpec();
    const SweepSpec spec = parsedSweep(given);
    QCOMPARE(spec.prompts.size(), std::size_t{2});
    QCOMPARE(spec.prompts[1].name, std::string("frequent_words-420"));
    QCOMPARE(spec.prompts[0].task.depths, (std::vector<double>{0, 0.5, 1}));
    given["prompts"][0]["task"] = "all";
    given["prompts"][0]["length"] = {420, 800};
    given["prompts"][0]["name"] = "t";
    QCOMPARE(parsedSweep(given).prompts.size(), 2 * taskKinds().size());
    QCOMPARE(parsedSweep(given).prompts[0].name, std::string("t-needle_single_1-420"));
  }

  void badTasksNameTheirKey() {
    const auto refused = [](const char* patch) {
      json given = taskSpec();
      given["prompts"][0].merge_patch(json::parse(patch));
      const auto spec = SweepSpec::fromJson(given);
      return spec ? std::string() : spec.error().code + " " + spec.error().field;
    };
    QCOMPARE(refused("{}"), std::string());
    QCOMPARE(refused(R"({"task": "needle_single"})"), std::string("bad_sweep prompts[0].task"));
    QCOMPARE(refused(R"({"task": []})"), std::string("bad_sweep prompts[0].task"));
    QCOMPARE(refused(R"({"length": null})"), std::string("bad_sweep prompts[0].length"));
    QCOMPARE(refused(R"({"length": [0]})"), std::string("bad_sweep prompts[0].length"));
    QCOMPARE(refused(R"({"depth": [0, 1.5]})"), std::string("bad_sweep prompts[0].depth"));
    QCOMPARE(refused(R"({"depth": "middle"})"), std::string("bad_sweep prompts[0].depth"));
    QCOMPARE(refused(R"({"samples": 0})"), std::string("bad_sweep prompts[0].samples"));
    QCOMPARE(refused(R"({"chat": 1})"), std::string("bad_sweep prompts[0].chat"));
    QCOMPARE(refused(R"({"max_new_tokens": 0})"), std::string("bad_sweep prompts[0].max_new_tokens"));
    QCOMPARE(refused(R"({"file": "x"})"), std::string("bad_sweep prompts[0].file"));
    const QTemporaryDir folder;
    json given = taskSpec();
    given["prompts"][0]["length"] = 30;
    QCOMPARE(runSweep(parsedSweep(given), into(folder.filePath("o").toStdString())).error().code,
             std::string("bad_prompts"));
    given["prompts"][0] = {{"name", "a"}, {"file", "resource:prompts/recall-256.json"}, {"chat", true}};
    QCOMPARE(runSweep(parsedSweep(given), into(folder.filePath("o").toStdString())).error().code,
             std::string("bad_prompts"));
  }

  /// Generated answers are those of a free greedy run behind context and question; scores are those of their texts.
  void answersAreThoseOfAGreedyRun() {
    const QTemporaryDir folder;
    const std::string out = folder.filePath("o").toStdString();
    const SweepOutcome done = swept(taskSpec(), into(out));
    const std::vector<Json> questions = linesIn(out + "/questions.jsonl"), answers = linesIn(out + "/answers.jsonl");
    QCOMPARE(questions.size(), std::size_t{8});  // two tasks, two seeds, two samples
    QCOMPARE(answers.size(), std::size_t{24});
    const std::vector<SweepCell> cells = *sweepCells(parsedSweep(taskSpec()));
    for (const Json& answer : answers) {
      const SweepCell& cell = cells[answer["index"].get<std::size_t>()];
      const auto asked = std::find_if(questions.begin(), questions.end(), [&](const Json& one) {
        return one["prompts"] == answer["prompts"] && one["seed"] == answer["seed"] && one["sample"] == answer["story"];
      });
      QVERIFY(asked != questions.end());
      QCOMPARE((*asked)["answers"], answer["wanted"]);
      auto session = openSession(cell.manifest, KVLAB_RESOURCES_DIR);
      QVERIFY(session);
      const Tokenizer& tokenizer = (*session)->model().tokenizer();
      const auto context = *tokenizer.encode((*asked)["context"].get<std::string>(), true);
      const auto text = (*asked)["question"].get<std::string>() + "\n" + (*asked)["answer_prefix"].get<std::string>();
      QVERIFY(append(**session, context, Source::Prompt).ok);
      const std::vector<TokenId> question = *tokenizer.encode(text, false);
      for (const TokenId token : question) {
        const TickReport fed = step(**session, {token});
        QVERIFY2(fed.ok, fed.ok ? "" : fed.error->text().c_str());
      }
      Json ids = Json::array();
      for (int i = 0; i < 5; ++i) {
        const TickReport tick = step(**session);
        const auto ends = tokenizer.eos();
        if (std::find(ends.begin(), ends.end(), *tick.token) != ends.end()) break;
        ids.push_back(tick.token->value());
      }
      QCOMPARE(answer["ids"].dump(), ids.dump());
      const auto wanted = answer["wanted"].get<std::vector<std::string>>();
      QCOMPARE(answer["score"].get<double>(), stringMatch(answer["text"].get<std::string>(), wanted).all);
      QVERIFY(answer["nll"].get<double>() > 0);
      const bool needle = answer["prompts"] == "needle_single_1-420";
      QCOMPARE(answer.contains("kept"), needle);
      if (needle && answer["axes"]["policy"] == "full") QCOMPARE(answer["kept"][0].get<double>(), 1.0);
    }
    const SweepRow& row = done.rows.front();
    QCOMPARE(row.task, std::string("needle_single_1"));
    QCOMPARE(row.length, 420);
    QCOMPARE(row.measure("answers"), std::optional(2.0));
    QVERIFY(row.measure("score") && row.measure("score_low") && row.measure("answer_nll"));
    QVERIFY(contents(out + "/summary.csv").find(",task,length,answers,score,score_low,score_high\n") !=
            std::string::npos);
  }

  void resultsDependOnTheSpecificationAlone() {
    const QTemporaryDir folder;
    const auto path = [&](const char* name) { return folder.filePath(name).toStdString(); };
    swept(taskSpec(), into(path("calm")));
    swept(taskSpec(), into(path("two"), 2));
    QCOMPARE(allFiles(path("two")), allFiles(path("calm")));
    SweepOptions options = into(path("stopped"));
    options.progress = [](const SweepProgress& progress) { return progress.done < 5; };
    QVERIFY(!runSweep(parsedSweep(taskSpec()), options));
    swept(taskSpec(), into(path("stopped"), 1, true));
    QCOMPARE(allFiles(path("stopped")), allFiles(path("calm")));
    QVERIFY(!contents(path("calm") + "/answers.jsonl").empty());
    const std::string report = contents(path("calm") + "/report.html");
    for (const char* words :
         {"24 generated answers", "needle_single_1-420", "h2o, 0.25 of rows", "0-20 %", "<svg", "Rows of the needle"})
      QVERIFY2(report.find(words) != std::string::npos, words);
    QVERIFY(report.find("http://") == report.find("http://www.w3.org"));  // nothing is loaded from elsewhere
  }

  /// questions.jsonl is a prompt set of its own and gives the same answers.
  void questionsAreReadAgain() {
    const QTemporaryDir folder;
    const std::string first = folder.filePath("first").toStdString(), again = folder.filePath("again").toStdString();
    json given = taskSpec();
    given["seeds"] = {1};
    given["prompts"][0]["task"] = "needle_single_1";
    swept(given, into(first));
    given["prompts"] = {{{"name", "read"}, {"file", first + "/questions.jsonl"}}};
    swept(given, into(again));
    const auto before = linesIn(first + "/answers.jsonl"), after = linesIn(again + "/answers.jsonl");
    QCOMPARE(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i)
      for (const char* key : {"story", "depth", "wanted", "text", "ids", "score", "part", "nll", "kept"})
        QCOMPARE(after[i][key].dump(), before[i][key].dump());
  }

  /// A journal's answers that are none are refused.
  void damagedAnswersAreRefused() {
    SweepRow row;
    row.answers.push_back({0, 1, 0.5, {"a"}, "b", {1, 2}, 0.5, 1, 0.25, {1, 0}});
    const Json good = answersJson(row);
    QCOMPARE(sweepAnswers(good, "x")->front().kept, (std::vector<double>{1, 0}));
    QVERIFY(sweepAnswers(nullptr, "x")->empty());
    for (const auto& item : good[0].items()) {
      Json bad = good;
      bad[0][item.key()] = Json::object();
      if (item.key() == "depth" || item.key() == "nll") continue;
      QCOMPARE(sweepAnswers(bad, "x").error().code, std::string("bad_results"));
    }
    QVERIFY(!sweepAnswers(3, "x"));
  }
};

KV_TEST(SweepTasksTest)
#include "sweep_tasks_test.moc"
