// SPDX-License-Identifier: Apache-2.0
// Sweeps: the specification, cells, results that do not depend on jobs or kills, and refusals.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "core/api/texts.h"
#include "core/experiment/sweep_cell.h"
#include "core/experiment/sweep_journal.h"
#include "core/experiment/sweep_lanes.h"
#include "core/experiment/sweep_runner.h"
#include "core/session/ticks.h"
#include "core/verbs/verbs.h"
#include "support/runner.h"
#include "unit/sweep_runs.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::json;

namespace {

std::vector<int> randomIds(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(3 + static_cast<int>(random() % 250));
  return out;
}

json stories(int count, unsigned seed) {
  json out = json::array();
  for (int s = 0; s < count; ++s) {
    json questions = json::array();
    for (unsigned q = 0; q < 3; ++q)
      questions.push_back({{"ids", randomIds(3, seed + 10 * q)},
                           {"reply_ids", randomIds(3, seed + 77 + q)},
                           {"deciding", 1},
                           {"needle", {4, 9}},
                           {"needle_at", 7}});
    out.push_back({{"ids", randomIds(40, seed++)}, {"questions", questions}});
  }
  return out;
}

json smallSpec() {
  return {{"name", "small"},
          {"base", {{"model", "synthetic:tiny"}, {"capacity", 200}, {"kv", {{"k", "f32"}, {"v", "f32"}}}}},
          {"axes",
           {{{"name", "rows"},
             {"key", "kv"},
             {"values",
              {{{"label", "f32"}, {"value", {{"k", "f32"}, {"v", "f32"}}}},
               {{"label", "int8"}, {"value", {{"k", "int8"}, {"v", "int8"}}}}}}},
            {{"name", "window"},
             {"values",
              {{{"label", "all"}, {"set", json::object()}},
               {{"label", "16"}, {"set", {{"layout", "ring_fused"}, {"ring", {{"window", 16}}}}}},
               {{"label", "none"}, {"set", {{"capacity", 8}}}}}}}}},
          {"seeds", {1, 2}},
          {"prompts",
           {{{"name", "ids"},
             {"set",
              {{"sets", {{{"seed", 1}, {"stories", stories(2, 5)}}, {{"seed", 2}, {"stories", stories(2, 50)}}}}}}}}}};
}

std::string resultsIn(const std::string& folder) {
  std::string all;
  for (const char* name : {"results.jsonl", "results.csv", "summary.csv", "pareto.svg"})
    all += contents(folder + "/" + name);
  return all;
}

SweepOutcome must(Result<SweepOutcome> outcome) {
  if (!outcome) qFatal("%s", outcome.error().text().c_str());
  return outcome.take();
}

}  // namespace

class SweepTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void badSpecsNameTheirKey_data();
  void badSpecsNameTheirKey();
  void cellsInOrder();
  void axesThatDoNotApply();
  void aValueSetsOtherKeysToo();
  void budgetGoesIntoThePolicy();
  void shippedSpecifications();
  void shippedSweepsOfRings();
  void badPromptsNameTheirPlace();
  void resultsDoNotDependOnJobs();
  void killedAndResumed();
  void aFailedCellIsAResult();
  void anotherSpecificationIsNotResumed();
  void nothingIsOverwritten();
  void stoppedAndResumed();
  void tornTailIsDroppedAndDamageRefused();
  void oneSweepPerFolder();
  void rowsSurviveTheirFile();
  void recallIsWhatGreedyRepliesSay();
  void measuresOfAWindow();
  void expressionsOfACell();
  void oraclesAreToldByLayersOfTheModel();
};

void SweepTest::badSpecsNameTheirKey_data() {
  QTest::addColumn<QString>("patch");
  QTest::addColumn<QString>("field");
  QTest::newRow("unknown") << R"({"jobs": 3})"
                           << "jobs";
  QTest::newRow("no prompts") << R"({"prompts": null})"
                              << "prompts";
  QTest::newRow("seeds") << R"({"seeds": [1, "a"]})"
                         << "seeds";
  QTest::newRow("seed twice") << R"({"seeds": [1, 1]})"
                              << "seeds";
  QTest::newRow("ask") << R"({"prompts": [{"name": "a", "file": "b", "ask": "before"}]})"
                       << "prompts[0].ask";
  QTest::newRow("file and set") << R"({"prompts": [{"name": "a", "file": "b", "set": {}}]})"
                                << "prompts[0]";
  QTest::newRow("ratio") << R"({"axes": [{"name": "budget", "budget": "ratio", "values": [0.5, 1.5]}]})"
                         << "axes[0].values[1]";
  QTest::newRow("tokens") << R"({"axes": [{"name": "budget", "budget": "tokens", "values": [0]}]})"
                          << "axes[0].values[0]";
  QTest::newRow("unit") << R"({"axes": [{"name": "budget", "budget": "rows", "values": [1]}]})"
                        << "axes[0].budget";
  QTest::newRow("axis key") << R"({"axes": [{"name": "a", "keys": "b", "values": [1]}]})"
                            << "axes[0].keys";
  QTest::newRow("empty axis") << R"({"axes": [{"name": "a", "key": "layout", "values": []}]})"
                              << "axes[0].values";
  QTest::newRow("label twice") << R"({"axes": [{"name": "a", "key": "layout", "values": ["paged", "paged"]}]})"
                               << "axes[0].values[1]";
  QTest::newRow("without")
      << R"({"axes": [{"name": "a", "key": "layout", "values": [{"value": "paged", "without": ["budget"]}]}]})"
      << "axes.a.paged.without";
  QTest::newRow("expression") << R"({"expressions": ["kl", "rows("]})"
                              << "expressions";
  QTest::newRow("expression twice") << R"({"expressions": ["kl", "kl"]})"
                                    << "expressions";
  QTest::newRow("expression of a text") << R"_({"expressions": ["exactness(ledger==1)"]})_"
                                        << "expressions";
  QTest::newRow("expression of a stage") << R"_({"expressions": ["stage(plan)"]})_"
                                         << "expressions";
  QTest::newRow("measure") << R"({"measure": ["speed"]})"
                           << "measure";
  QTest::newRow("manifest") << R"({"axes": [{"name": "a", "key": "layout", "values": ["indirection", "nonsense"]}]})"
                            << "layout";
}

void SweepTest::badSpecsNameTheirKey() {
  QFETCH(QString, patch);
  QFETCH(QString, field);
  json given = smallSpec();
  given.merge_patch(json::parse(patch.toStdString()));
  const Result<SweepSpec> spec = SweepSpec::fromJson(given);
  const Error error = spec ? sweepCells(*spec).error() : spec.error();
  QCOMPARE(QString::fromStdString(error.code), QStringLiteral("bad_sweep"));
  QCOMPARE(QString::fromStdString(error.field), field);
  QVERIFY(!error.remedy.empty());
}

void SweepTest::cellsInOrder() {
  const SweepSpec spec = parsedSweep(smallSpec());
  const Result<std::vector<SweepCell>> cells = sweepCells(spec);
  QVERIFY(cells);
  QCOMPARE(cells->size(), std::size_t{12});
  for (std::size_t i = 0; i < 12; ++i) QCOMPARE((*cells)[i].index, static_cast<std::int64_t>(i));
  QCOMPARE((*cells)[4].seed, 1);
  QCOMPARE((*cells)[4].axes[0].second, std::string("int8"));
  QCOMPARE((*cells)[4].axes[1].second, std::string("16"));
  QCOMPARE((*cells)[4].manifest.kvK, std::string("int8"));
  QCOMPARE((*cells)[4].manifest.ring.window, 16);
  QCOMPARE((*cells)[6].seed, 2);
  QCOMPARE((*cells)[6].manifest.sampling.seed, std::uint64_t{2});
}

void SweepTest::axesThatDoNotApply() {
  json given = smallSpec();
  given["axes"][0]["values"][0]["without"] = {"window"};
  const Result<std::vector<SweepCell>> cells = sweepCells(parsedSweep(given));
  QVERIFY(cells);
  QCOMPARE(cells->size(), std::size_t{8});
  QCOMPARE((*cells)[0].axes[1].second, std::string("-"));
  QCOMPARE((*cells)[1].axes[0].second, std::string("int8"));
}

void SweepTest::aValueSetsOtherKeysToo() {
  json given = smallSpec();
  given["axes"][0] = {
      {"name", "policy"},
      {"key", "policy"},
      {"values", {"h2o", {{"label", "by head"}, {"value", "h2o"}, {"set", {{"residency", "kv_head"}}}}}}};
  const Result<std::vector<SweepCell>> cells = sweepCells(parsedSweep(given));
  QVERIFY(cells);
  QCOMPARE((*cells).back().axes[0].second, std::string("by head"));
  QVERIFY((*cells).back().manifest.residentByHead());
  QCOMPARE((*cells).back().manifest.policy.name, std::string("h2o"));
  QVERIFY(!(*cells)[0].manifest.residentByHead());
  given["axes"][0]["values"][1]["set"] = 3;
  QVERIFY(!SweepSpec::fromJson(given));
}

void SweepTest::budgetGoesIntoThePolicy() {
  const Result<json> text = namedObject("h2o:sinks=4,pooling=avg");
  QVERIFY(text);
  QCOMPARE(text->dump(), json({{"name", "h2o"}, {"sinks", 4}, {"pooling", "avg"}}).dump());
  QCOMPARE((*namedObject("full")).dump(), json({{"name", "full"}}).dump());
  QVERIFY(!namedObject("h2o:sinks"));
  QVERIFY(!namedObject(3));
}

void SweepTest::shippedSpecifications() {
  int found = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(KVLAB_RESOURCES_DIR) + "/sweeps")) {
    if (file.path().extension() != ".json") continue;
    const Result<SweepSpec> spec = readSweepSpec(file.path().string());
    if (!spec) qFatal("%s", spec.error().text().c_str());
    const auto cells = sweepCells(*spec);
    if (!cells) qFatal("%s", cells.error().text().c_str());
    for (const SweepPrompts& prompts : spec->prompts)
      if (prompts.task.task.empty())
        QVERIFY(std::filesystem::exists(std::string(KVLAB_RESOURCES_DIR) + ("/" + prompts.file.substr(9))));
    std::set<std::string> labels;
    for (const SweepCell& cell : *cells) {
      labels.insert(cell.axes.front().second);
      const json policy = cell.manifest.toJson()["policy"];
      QCOMPARE(policy.value("ratio", 0.0), cell.budget ? cell.budget->value : 0.0);
      if (policy["name"] == "random") QCOMPARE(policy["seed"], json(cell.seed));
    }
    QVERIFY(cells->size() >= spec->seeds.size() * labels.size());
    ++found;
  }
  QVERIFY(found > 0);
}

/// The shipped sweeps over windows and over layouts, with one question: every cell runs. A window that holds the whole
/// story costs nothing, and cells that differ in where rows lie have the same figures.
void SweepTest::shippedSweepsOfRings() {
  const QTemporaryDir folder;
  const auto run = [&](const std::string& name) {
    json given = json::parse(contents(std::string(KVLAB_RESOURCES_DIR) + "/sweeps/" + name + ".json"));
    given["seeds"] = {1};
    given["prompts"] = {
        {{"name", "short"}, {"file", "resource:prompts/recall-256.json"}, {"stories", 1}, {"questions", 1}}};
    const SweepOutcome done = must(runSweep(parsedSweep(given), into(folder.path().toStdString() + "/" + name, 2)));
    for (const SweepRow& row : done.rows)
      if (row.error) qFatal("%s: %s", row.series().c_str(), row.error->text().c_str());
    return done.rows;
  };
  std::map<std::string, std::map<std::string, SweepRow>> windows;  // by values and layers, by window
  for (const SweepRow& row : run("windows"))
    windows[row.axes[0].second + ", " + row.axes[1].second][row.axes[2].second] = row;
  QCOMPARE(windows.size(), std::size_t(4));
  for (const auto& [cells, by] : windows) {
    QCOMPARE(by.size(), std::size_t(7));
    const SweepRow &small = by.at("32"), &middle = by.at("128"), &all = by.at("all");
    QVERIFY2(small.measure("kl_mean") > all.measure("kl_mean"), cells.c_str());
    QVERIFY2(small.measure("bytes_live") < middle.measure("bytes_live"), cells.c_str());
    QVERIFY2(middle.measure("bytes_live") < all.measure("bytes_live"), cells.c_str());
    QCOMPARE(small.expression("rows(layer==3)"), std::optional(32.0));
    QCOMPARE(by.at("512").measure("kl_mean"), all.measure("kl_mean"));
    const bool coded = cells.starts_with("int8");
    QCOMPARE(all.measure("kl_mean") > 0.0, coded);
    QCOMPARE(all.expression("saturated").has_value(), coded);
    if (coded) QCOMPARE(all.expression("nonfinite"), std::optional(0.0));
  }
  std::map<std::string, std::set<std::string>> figures;  // by kind of layout and types
  for (const SweepRow& row : run("layouts")) {
    SweepRow same = row;
    same.index = 0;
    same.id.clear();
    same.axes.clear();
    figures[(row.axes[0].second.starts_with("ring_") ? "ring " : "whole ") + row.axes[1].second].insert(
        sweepLine(same));
  }
  QCOMPARE(figures.size(), std::size_t(4));
  for (const auto& [cells, lines] : figures) QVERIFY2(lines.size() == 1, (cells + *lines.rbegin()).c_str());
}

void SweepTest::badPromptsNameTheirPlace() {
  const auto refused = [](const char* patch) {
    json given = smallSpec();
    json& set = given["prompts"][0]["set"];
    set = {{"stories", stories(1, 5)}};
    set["stories"][0]["questions"][1].merge_patch(json::parse(patch));
    QTemporaryDir folder;
    const auto outcome = runSweep(parsedSweep(given), into(folder.filePath("o").toStdString()));
    return outcome ? std::string() : outcome.error().code + " " + outcome.error().field;
  };
  const std::string place = "bad_prompts stories[0].questions[1]";
  QCOMPARE(refused(R"({"deciding": 3})"), place + ".deciding");
  QCOMPARE(refused(R"({"needle_at": 40})"), place + ".needle_at");
  QCOMPARE(refused(R"({"needle": [9, 4]})"), place + ".needle");
  QCOMPARE(refused(R"({"ids": [9999]})"), place + ".ids");
  QCOMPARE(refused(R"({"reply_ids": null})"), place);
  QCOMPARE(refused(R"({"colour": 1})"), place + ".colour");
}

void SweepTest::resultsDoNotDependOnJobs() {
  const SweepSpec spec = parsedSweep(smallSpec());
  const auto lanes = [&](int jobs) {
    const SweepOptions options = into("", jobs);
    SweepSetup setup(spec, options);
    if (Status opened = setup.open(); !opened) qFatal("%s", opened.error().text().c_str());
    return SweepLanes(setup, setup.total()).count();
  };
  QCOMPARE(lanes(1), 8);
  QCOMPARE(lanes(3), 4);
  QCOMPARE(lanes(12), 1);
  QTemporaryDir folder;
  const auto at = [&](int jobs) { return folder.filePath(QString::number(jobs)).toStdString(); };
  const SweepOutcome a = must(runSweep(spec, into(at(1), 1)));
  QVERIFY(resultsIn(at(1)).size() > 2000);
  for (const int jobs : {3, 12}) {
    must(runSweep(spec, into(at(jobs), jobs)));
    QCOMPARE(resultsIn(at(jobs)), resultsIn(at(1)));
  }
  std::set<std::string> names;
  for (const SweepRow& row : a.rows) names.insert(row.id);
  QCOMPARE(names.size(), a.rows.size());
}

/// Killed without warning until it comes to an end: the results equal those of an undisturbed run, and
/// no finished cell ran twice.
void SweepTest::killedAndResumed() {
#ifdef __SANITIZE_THREAD__
  QSKIP("the thread sanitizer cannot follow threads that a fork starts");
#endif
  QTemporaryDir folder;
  const SweepSpec spec = parsedSweep(smallSpec());
  const std::string calm = folder.filePath("calm").toStdString();
  QElapsedTimer timer;
  timer.start();
  must(runSweep(spec, into(calm)));
  const auto full = static_cast<unsigned>(std::max<qint64>(20000, timer.nsecsElapsed() / 1000));
  std::mt19937 random(20);
  for (int round = 0; round < 6; ++round) {
    const std::string out = folder.filePath(QString("killed%1").arg(round)).toStdString();
    int kills = 0;
    for (bool finished = false; !finished; ++kills) {
      const pid_t child = fork();
      QVERIFY(child >= 0);
      if (child == 0) _exit(runSweep(spec, into(out, 1 + round % 3, true)) ? 0 : 9);
      if (kills < 8) {
        ::usleep(static_cast<useconds_t>(random() % full));
        ::kill(child, SIGKILL);
      }
      int status = 0;
      QCOMPARE(::waitpid(child, &status, 0), child);
      finished = WIFEXITED(status);
      if (finished) QCOMPARE(WEXITSTATUS(status), 0);
    }
    QCOMPARE(resultsIn(out), resultsIn(calm));
    Result<std::unique_ptr<SweepJournal>> journal = SweepJournal::open(out + "/journal.jsonl");
    QVERIFY(journal);
    QCOMPARE((*journal)->lines().size(), std::size_t{12});
    qInfo("round %d: %d runs", round, kills);
  }
}

void SweepTest::aFailedCellIsAResult() {
  QTemporaryDir folder;
  const SweepOutcome outcome = must(runSweep(parsedSweep(smallSpec()), into(folder.filePath("o").toStdString(), 2)));
  QCOMPARE(outcome.failed, 4);  // 40 tokens and no room for 9
  for (const SweepRow& row : outcome.rows) {
    QCOMPARE(row.error.has_value(), row.axes[1].second == "none");
    QCOMPARE(row.measure("recall").has_value(), !row.error.has_value());
    if (row.error) QVERIFY(!row.error->remedy.empty());
  }
}

void SweepTest::anotherSpecificationIsNotResumed() {
  QTemporaryDir folder;
  const std::string out = folder.filePath("o").toStdString();
  must(runSweep(parsedSweep(smallSpec()), into(out)));
  json other = smallSpec();
  other["base"]["capacity"] = 201;
  const auto changed = runSweep(parsedSweep(other), into(out, 1, true));
  QVERIFY(!changed);
  QCOMPARE(changed.error().code, std::string("sweep_changed"));
  QVERIFY(changed.error().why.find("base") != std::string::npos);
  other = smallSpec();
  other["prompts"][0]["set"]["sets"][0]["stories"][0]["ids"][3] = 4;
  const auto prompts = runSweep(parsedSweep(other), into(out, 1, true));
  QVERIFY(!prompts);
  QCOMPARE(prompts.error().code, std::string("sweep_changed"));
  const SweepOutcome same = must(runSweep(parsedSweep(smallSpec()), into(out, 1, true)));
  QCOMPARE(same.found, 12);
}

void SweepTest::nothingIsOverwritten() {
  QTemporaryDir folder;
  const std::string out = folder.filePath("o").toStdString();
  must(runSweep(parsedSweep(smallSpec()), into(out)));
  const auto again = runSweep(parsedSweep(smallSpec()), into(out));
  QVERIFY(!again);
  QCOMPARE(again.error().code, std::string("sweep_exists"));
}

void SweepTest::stoppedAndResumed() {
  QTemporaryDir folder;
  json given = smallSpec();  // more cells than two threads run together
  for (const int rows : {20, 24, 28, 32})
    given["axes"][1]["values"].push_back(
        {{"label", std::to_string(rows)}, {"set", {{"layout", "ring_fused"}, {"ring", {{"window", rows}}}}}});
  const std::string calm = folder.filePath("calm").toStdString(), out = folder.filePath("o").toStdString();
  must(runSweep(parsedSweep(given), into(calm)));
  SweepOptions options = into(out, 2);
  std::int64_t last = -1;
  options.progress = [&](const SweepProgress& progress) {
    last = progress.done;
    return progress.done < 5;
  };
  const auto stopped = runSweep(parsedSweep(given), options);
  QVERIFY(!stopped);
  QCOMPARE(stopped.error().code, std::string("cancelled"));
  QVERIFY(last >= 5 && last < 28);
  QVERIFY(!std::filesystem::exists(out + "/results.jsonl"));
  int asked = 0;
  SweepOptions inside = into(out, 1, true);
  inside.stopped = [&] { return ++asked == 1; };  // in the middle of a cell
  const auto broken = runSweep(parsedSweep(given), inside);
  QVERIFY(!broken && broken.error().code == "cancelled" && asked == 1);
  const SweepOutcome rest = must(runSweep(parsedSweep(given), into(out, 2, true)));
  QCOMPARE(rest.found, last);
  QCOMPARE(resultsIn(out), resultsIn(calm));
}

void SweepTest::tornTailIsDroppedAndDamageRefused() {
  QTemporaryDir folder;
  const std::string out = folder.filePath("o").toStdString(), path = out + "/journal.jsonl";
  must(runSweep(parsedSweep(smallSpec()), into(out)));
  const std::string whole = contents(path), results = resultsIn(out);
  for (const std::size_t cut : {std::size_t{1}, std::size_t{40}, whole.size() - whole.rfind('\n', whole.size() - 2) - 2,
                                whole.size() - 30, whole.size()}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, whole.size() - cut);
    must(runSweep(parsedSweep(smallSpec()), into(out, 1, true)));
    QCOMPARE(resultsIn(out), results);
  }
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 1);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
  const auto refused = runSweep(parsedSweep(smallSpec()), into(out, 1, true));
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, std::string("bad_journal"));
  QCOMPARE(contents(path), damaged);
}

void SweepTest::oneSweepPerFolder() {
  QTemporaryDir folder;
  const std::string path = folder.filePath("journal.jsonl").toStdString();
  const auto first = SweepJournal::create(path, {{"a", 1}});
  QVERIFY(first);
  const auto second = SweepJournal::open(path);
  QVERIFY(!second);
  QCOMPARE(second.error().code, std::string("sweep_busy"));
}

void SweepTest::rowsSurviveTheirFile() {
  QTemporaryDir folder;
  const std::string out = folder.filePath("o").toStdString();
  const SweepOutcome outcome = must(runSweep(parsedSweep(smallSpec()), into(out)));
  const Result<std::vector<SweepRow>> read = sweepRows(contents(out + "/results.jsonl"), "results.jsonl");
  QVERIFY(read);
  QCOMPARE(sweepCsv(*read), contents(out + "/results.csv"));
  const Result<std::vector<SweepRow>> journal =
      sweepRows(contents(out + "/journal.jsonl") + "0123456789abcdef {\"row\": {\"sch", "journal.jsonl");
  QVERIFY(journal);
  QCOMPARE(sweepCsv(*journal), contents(out + "/results.csv"));
  const auto refused = sweepRows("{\"schema\": 1}\n", "x");
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, std::string("bad_results"));
  for (const char* text : {"{\"schema\": 1", "{\"schema\": 7}"}) QVERIFY(!sweepRows(text, "x"));
}

/// Wilson 1927, as tabulated by Newcombe 1998 (table I): 81 of 263 and 0 of 20.
/// The demo model's free greedy replies, generated token by token, against the measure.
void SweepTest::recallIsWhatGreedyRepliesSay() {
  const Result<Manifest> manifest =
      Manifest::fromJson({{"model", "demo"}, {"threads", 1}, {"layout", "ring_fused"}, {"ring", {{"window", 96}}}});
  QVERIFY(manifest);
  Result<std::unique_ptr<Session>> host = openSession(*manifest, KVLAB_RESOURCES_DIR);
  QVERIFY(host);
  const json set = json::parse(contents(std::string(KVLAB_RESOURCES_DIR) + "/prompts/recall-256.json"));
  const auto read = readStories(set, "recall-256.json", 2, (*host)->model(), {2, 0});
  if (!read) qFatal("%s", read.error().text().c_str());
  PromptReads reads;
  CellWork work{*read, reads};
  const auto reference = runReference(**host, *manifest, work);
  QVERIFY(reference);
  SweepRow row;
  QVERIFY(runCell(**host, *manifest, work, *reference, row));
  int right = 0, asked = 0;
  for (const SweepStory& story : *read) {
    auto session = (*host)->beside(*manifest);
    QVERIFY(session);
    QVERIFY(append(**session, story.tokens, Source::Prompt).ok);
    for (const SweepQuestion& question : story.questions) {
      auto fork = (*session)->fork();
      QVERIFY(fork);
      for (const TokenId token : question.tokens) QVERIFY(step(**fork, {token}).ok);
      bool same = true;
      for (const TokenId token : question.reply) same = same && step(**fork).token == token;
      right += same;
      ++asked;
    }
  }
  QCOMPARE(row.measure("questions"), std::optional<double>(asked));
  QCOMPARE(row.measure("right"), std::optional<double>(right));
  QVERIFY(right > 0 && right < asked);  // the window hides some facts and not all
  QCOMPARE(row.measure("kl_mean"), std::optional<double>(0));
  QCOMPARE(row.measure("top1"), std::optional<double>(1));
}

void SweepTest::measuresOfAWindow() {
  json given = smallSpec();
  given["measure"] = {"needles", "bytes", "attention", "kl"};
  QTemporaryDir folder;
  const SweepOutcome outcome = must(runSweep(parsedSweep(given), into(folder.filePath("o").toStdString())));
  const SweepRow &all = outcome.rows[0], &window = outcome.rows[1];
  QVERIFY(!all.measure("recall"));
  QVERIFY(all.byStory.empty());
  QCOMPARE(all.measure("rows_kept"), std::optional<double>(40));
  QCOMPARE(all.measure("needle_survival"), std::optional<double>(1));
  QCOMPARE(all.measure("attention_kept"), std::optional<double>(1));
  QCOMPARE(all.measure("kl_mean"), std::optional<double>(0));
  QCOMPARE(all.measure("bytes_live"), all.measure("bytes_reference"));
  QCOMPARE(window.measure("rows_kept"), std::optional<double>(16));
  QCOMPARE(window.measure("needle_survival"), std::optional<double>(0));
  QVERIFY(*window.measure("attention_kept") < 0.7 && *window.measure("attention_kept") > 0.2);
  QVERIFY(*window.measure("kl_mean") > 0);
  given["measure"] = {"attention"};
  const SweepOutcome less = must(runSweep(parsedSweep(given), into(folder.filePath("less").toStdString())));
  QVERIFY(!less.rows[1].measure("kl_mean"));
  QCOMPARE(less.rows[1].measure("attention_kept"), window.measure("attention_kept"));
  QCOMPARE(*window.measure("bytes_live") * 40, *all.measure("bytes_live") * 16);
}

/// A story of 40 tokens, of which a ring keeps 16, and four fed tokens: five places to ask at.
void SweepTest::expressionsOfACell() {
  json given = smallSpec();
  given["seeds"] = {1};
  given["expressions"] = {"rows(layer==0)", "length % 2 == 0", "changed(rows(layer==0))", "kl >= 0"};
  const QTemporaryDir folder;
  const SweepOutcome done = must(runSweep(parsedSweep(given), into(folder.path().toStdString() + "/out")));
  const auto mean = [&](const char* window, const char* text) -> std::optional<double> {
    for (const SweepRow& row : done.rows)
      if (row.axes[0].second == "f32" && row.axes[1].second == window) return row.expression(text);
    return {};
  };
  QCOMPARE(mean("all", "rows(layer==0)"), std::optional(42.0));
  QCOMPARE(mean("16", "rows(layer==0)"), std::optional(16.0));
  QCOMPARE(mean("all", "length % 2 == 0"), std::optional(0.6));
  QCOMPARE(mean("all", "changed(rows(layer==0))"), std::optional(1.0));  // asked of four tokens
  QCOMPARE(mean("16", "changed(rows(layer==0))"), std::optional(0.0));
  QCOMPARE(mean("all", "kl >= 0"), std::optional(1.0));
  QCOMPARE(mean("none", "kl >= 0"), std::optional<double>());  // the cell was refused
  const std::string csv = sweepCsv(done.rows);
  QVERIFY2(csv.find(",expression.rows(layer==0),") != std::string::npos, csv.c_str());
  QCOMPARE(contents(folder.path().toStdString() + "/out/results.csv"), csv);
  given["expressions"] = {"rows(layer==99)"};
  const SweepOutcome refused = must(runSweep(parsedSweep(given), into(folder.path().toStdString() + "/refused")));
  QVERIFY(refused.rows[0].error && refused.rows[0].error->code == "bad_condition");
}

/// The values of a reference are the same whether its residency is by layer or by KV head.
void SweepTest::oraclesAreToldByLayersOfTheModel() {
  json given = smallSpec();
  given["axes"] = {{{"name", "policy"},
                    {"key", "policy"},
                    {"values", {{{"label", "oracle"}, {"value", "oracle:capacity=16,window=4"}}}}}};
  given["measure"] = {"attention", "kl"};
  QTemporaryDir folder;
  std::vector<double> kl, kept;
  for (const char* residency : {"layer", "kv_head"}) {
    given["reference"] = {{"policy", "full"}, {"residency", residency}};
    const SweepOutcome outcome = must(runSweep(parsedSweep(given), into(folder.filePath(residency).toStdString())));
    kl.push_back(outcome.rows[0].measure("kl_mean").value_or(0));
    kept.push_back(outcome.rows[0].measure("attention_kept").value_or(0));
  }
  QVERIFY(kl[0] > 0);
  QCOMPARE(kl[1], kl[0]);
  QVERIFY2(std::abs(kept[1] - kept[0]) < 1e-6, qPrintable(QString("%1, %2").arg(kept[0]).arg(kept[1])));
}

KV_TEST(SweepTest)
#include "sweep_test.moc"
