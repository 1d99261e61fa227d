// SPDX-License-Identifier: Apache-2.0
// Sweeps in shards: a merge of journals gives the bytes of a single run; what it refuses; states; estimates.
#include <filesystem>
#include <fstream>
#include <set>

#include "core/experiment/sweep_estimate.h"
#include "core/experiment/sweep_groups.h"
#include "core/experiment/sweep_journal.h"
#include "core/experiment/sweep_runner.h"
#include "core/experiment/sweep_shards.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

json shardStory(int first) {
  const json question{{"ids", {4, first}}, {"reply_ids", {3, 9}}, {"deciding", 1}, {"needle_at", 2}};
  return {{"ids", {first, 6, 7, 8, 9, 12, 14}}, {"questions", {question}}};
}

/// Two prompt sets and two seeds: four groups of two cells.
json shardSpec() {
  const auto set = [](int first) {
    return json{{"sets",
                 {{{"seed", 1}, {"stories", {shardStory(first), shardStory(first + 1)}}},
                  {{"seed", 2}, {"stories", {shardStory(first + 2)}}}}}};
  };
  return {{"name", "parts"},
          {"base", {{"model", "synthetic:tiny"}, {"capacity", 64}}},
          {"axes", {{{"name", "rows"}, {"key", "kv"}, {"values", {{{"k", "f16"}}, {{"k", "int8"}}}}}}},
          {"seeds", {1, 2}},
          {"prompts", {{{"name", "a"}, {"set", set(20)}}, {{"name", "b"}, {"ask", "inside"}, {"set", set(40)}}}}};
}

class ShardFolders {
 public:
  std::string at(const std::string& name) const { return m_folder.path().toStdString() + "/" + name; }

  Result<SweepOutcome> run(const std::string& name, SweepShard shard, bool resume = false,
                           const json& given = shardSpec()) const {
    SweepOptions options;
    options.out = at(name), options.resources = KVLAB_RESOURCES_DIR, options.jobs = 1;
    options.shard = shard, options.resume = resume;
    return runSweep(given, options);
  }

  std::string bytes(const std::string& name) const {
    std::string out;
    for (const char* file : {"results.jsonl", "results.csv", "summary.csv", "pareto.svg"}) {
      std::ifstream in(at(name + "/" + file), std::ios::binary);
      out.append(std::istreambuf_iterator<char>(in), {});
    }
    return out;
  }

  /// A copy of a journal with another head, or other lines.
  void rewrite(const std::string& from, const std::string& to, const std::function<void(JournalLines&)>& change) const {
    JournalLines lines = readJournal(at(from + "/journal.jsonl")).take();
    std::ranges::sort(lines.lines, {}, [](const auto& line) { return line["row"]["index"].template get<int>(); });
    change(lines);
    fs::create_directories(at(to));
    QVERIFY(writeJournal(at(to + "/journal.jsonl"), lines.head, lines.lines));
  }

 private:
  QTemporaryDir m_folder;
};

std::string said(const Result<SweepOutcome>& outcome) {
  return outcome ? std::string("no error") : outcome.error().code + ": " + outcome.error().text();
}

}  // namespace

class SweepShardsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void wordsOfAShard() {
    QCOMPARE(parseShard("2/4")->text(), std::string("2/4"));
    for (const char* bad : {"", "2", "0/4", "5/4", "2/", "/4", "-1/4", "2/4x", "99999999999/4", "1/0"}) {
      const Result<SweepShard> shard = parseShard(bad);
      QVERIFY2(!shard && shard.error().code == "bad_shard", bad);
    }
  }

  /// Shards have whole groups, and every cell is in one of them.
  void groupsStayTogether() {
    const ShardFolders folders;
    std::set<std::int64_t> seen;
    std::size_t cells = 0;
    for (const int index : {1, 2, 3}) {
      const Result<SweepOutcome> done = folders.run("s" + std::to_string(index), {index, 3});
      QVERIFY2(done, said(done).c_str());
      std::set<std::pair<std::string, std::int64_t>> groups;
      for (const SweepRow& row : done->rows) {
        groups.emplace(row.prompts, row.seed);
        seen.insert(row.index);
      }
      cells += done->rows.size();
      QCOMPARE(done->rows.size(), 2 * groups.size());
      QVERIFY(!fs::exists(folders.at("s" + std::to_string(index)) + "/results.csv"));
    }
    QCOMPARE(cells, std::size_t(8));
    QCOMPARE(seen.size(), std::size_t(8));
    const std::string refused = said(folders.run("s5", {1, 5}));
    QVERIFY2(refused.find("bad_shard") == 0 && refused.find("4 such groups for 5 shards") != std::string::npos,
             refused.c_str());
    QVERIFY(!fs::exists(folders.at("s5")));
  }

  void mergedBytesAreThoseOfOneRun() {
    const ShardFolders folders;
    QVERIFY(folders.run("whole", {}));
    for (const int index : {1, 2, 3}) QVERIFY(folders.run("all/shard-" + std::to_string(index), {index, 3}));
    const Result<SweepOutcome> merged = mergeSweeps({folders.at("all")}, folders.at("all"));
    QVERIFY2(merged, said(merged).c_str());
    QVERIFY(folders.bytes("whole").size() > 2000);
    QCOMPARE(folders.bytes("all"), folders.bytes("whole"));
    QVERIFY(mergeSweeps({folders.at("all")}, folders.at("all")));  // once more
    // The merged folder is one of a whole sweep, and a shard that is given twice says the same twice.
    QCOMPARE(folders.run("all", {}, true)->found, std::int64_t(8));
    const std::vector<std::string> twice{folders.at("all/shard-3"), folders.at("all/shard-1"),
                                         folders.at("all/shard-2"), folders.at("all/shard-1")};
    QVERIFY(mergeSweeps(twice, folders.at("second")));
    QCOMPARE(folders.bytes("second"), folders.bytes("whole"));
    const std::string shard = said(mergeSweeps(twice, folders.at("all/shard-1")));
    QVERIFY2(shard.find("sweep_exists") == 0, shard.c_str());
  }

  void aShardIsResumedAsThatShard() {
    const ShardFolders folders;
    QVERIFY(folders.run("s", {1, 2}));
    QCOMPARE(folders.run("s", {1, 2}, true)->found, std::int64_t(4));
    for (const SweepShard other : {SweepShard{2, 2}, SweepShard{1, 3}, SweepShard{}}) {
      const std::string refused = said(folders.run("s", other, true));
      QVERIFY2(refused.find("sweep_changed") == 0 && refused.find("shard") != std::string::npos, refused.c_str());
    }
  }

  void mergeNamesWhatIsMissing() {
    const ShardFolders folders;
    QVERIFY(folders.run("one", {1, 2}));
    QVERIFY(folders.run("two", {2, 2}));
    folders.rewrite("two", "short", [](JournalLines& lines) { lines.lines.pop_back(); });
    const std::string short1 = said(mergeSweeps({folders.at("one"), folders.at("short")}, folders.at("m")));
    QVERIFY2(short1.find("missing_cells") == 0 &&
                 short1.find("1 of 8 cells are missing: cell 7 (b, ") != std::string::npos &&
                 short1.find("seed 2) of shard 2/2") != std::string::npos,
             short1.c_str());
    const std::string none = said(mergeSweeps({folders.at("one"), folders.at("three")}, folders.at("m")));
    QVERIFY2(none.find("missing_cells") == 0 && none.find("has not begun") != std::string::npos, none.c_str());
    QVERIFY(!fs::exists(folders.at("m")));
  }

  void mergeRefusesOthers_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("title");
    for (const auto& [key, title] : {std::pair{"numerics", "arithmetic"}, {"model", "model"}, {"prompts", "prompts"}})
      QTest::newRow(key) << key << title;
  }

  void mergeRefusesOthers() {
    QFETCH(QString, key);
    QFETCH(QString, title);
    const ShardFolders folders;
    QVERIFY(folders.run("one", {1, 2}));
    QVERIFY(folders.run("two", {2, 2}));
    folders.rewrite("two", "other", [&](JournalLines& lines) { lines.head[key.toStdString()] = "another one"; });
    const std::string refused = said(mergeSweeps({folders.at("one"), folders.at("other")}, folders.at("m")));
    for (const std::string& part :
         {std::string("shards_differ"), "the " + title.toStdString() + " of " + folders.at("one") + " is ",
          "that of " + folders.at("other") + " is \"another one\""})
      QVERIFY2(refused.find(part) != std::string::npos, refused.c_str());
    QVERIFY(!fs::exists(folders.at("m")));
  }

  void mergeRefusesAnotherSpecification() {
    const ShardFolders folders;
    json other = shardSpec();
    other["base"]["capacity"] = 72;
    QVERIFY(folders.run("one", {1, 2}));
    QVERIFY(folders.run("two", {2, 2}, false, other));
    const std::string refused = said(mergeSweeps({folders.at("one"), folders.at("two")}, folders.at("m")));
    QVERIFY2(refused.find("the specification's base of ") != std::string::npos, refused.c_str());
  }

  void mergeNamesAContradiction() {
    const ShardFolders folders;
    QVERIFY(folders.run("one", {1, 2}));
    QVERIFY(folders.run("two", {2, 2}));
    folders.rewrite("two", "again", [](JournalLines& lines) { lines.lines[1]["row"]["kl_mean"] = 5; });
    folders.rewrite("two", "slower", [](JournalLines& lines) { lines.lines[1]["seconds"] = 500; });
    const std::string refused =
        said(mergeSweeps({folders.at("one"), folders.at("two"), folders.at("again")}, folders.at("m")));
    for (const std::string& part : {std::string("shards_differ"), folders.at("two"), folders.at("again"),
                                    std::string("contradict each other: cell 3 (a, ")})
      QVERIFY2(refused.find(part) != std::string::npos, refused.c_str());
    QVERIFY(mergeSweeps({folders.at("one"), folders.at("two"), folders.at("slower")}, folders.at("m")));
  }

  /// Whatever a line of the journal has beside its row stays.
  void linesGoThroughWhole() {
    const ShardFolders folders;
    QVERIFY(folders.run("one", {1, 2}));
    QVERIFY(folders.run("two", {2, 2}));
    folders.rewrite("two", "more", [](JournalLines& lines) { lines.lines[0]["note"] = {1, 2}; });
    QVERIFY(mergeSweeps({folders.at("one"), folders.at("more")}, folders.at("m")));
    const JournalLines merged = readJournal(folders.at("m/journal.jsonl")).take();
    QCOMPARE(merged.lines.size(), std::size_t(8));
    QCOMPARE(merged.lines[2]["note"].dump(), std::string("[1,2]"));
    QVERIFY(merged.head["shard"].is_null());
  }

  void statesAreThoseOfTheJournals() {
    const ShardFolders folders;
    QVERIFY(!shardStates(folders.at("all")));
    QVERIFY(folders.run("all/shard-2", {2, 3}));
    fs::create_directories(folders.at("all/shard-1"));
    folders.rewrite("all/shard-2", "all/shard-10", [](JournalLines& lines) { lines.lines.clear(); });
    std::ofstream(folders.at("all/shard-10/journal.jsonl"), std::ios::app) << "0123456789abcdef {\"torn";
    const auto states = shardStates(folders.at("all"));
    QVERIFY(states);
    QCOMPARE(states->size(), std::size_t(3));
    QVERIFY((*states)[0].last < 0 && (*states)[0].cells < 0 && !(*states)[0].finished());
    QVERIFY((*states)[1].finished() && (*states)[1].done == 2 && (*states)[1].last > 1e9);
    QVERIFY((*states)[2].done == 0 && (*states)[2].cells == 2 && !(*states)[2].finished());
    const auto journal = SweepJournal::open(folders.at("all/shard-2/journal.jsonl"));
    QVERIFY(shardStates(folders.at("all/shard-2"))->front().running);
    QVERIFY(!(*states)[1].running);
  }

  void estimatesCountCellsAndTokens() {
    const ShardFolders folders;
    SweepOptions options;
    options.out = folders.at("none"), options.resources = KVLAB_RESOURCES_DIR, options.jobs = 1;
    const Result<SweepEstimate> all = estimateSweep(shardSpec(), options);
    QVERIFY2(all, all ? "" : all.error().text().c_str());
    QCOMPARE(all->cells, std::int64_t(8));
    // A story of 7 tokens, 2 of the question and 1 of the reply; 3 stories of each set; a reference and two cells.
    QCOMPARE(all->tokens, std::int64_t(2 * 3 * 10 * 3));
    QCOMPARE(all->measured, 4);
    QVERIFY(all->seconds > 0);
    options.shard = {2, 4};
    QCOMPARE(estimateSweep(shardSpec(), options)->tokens, std::int64_t(10 * 3));
    QVERIFY(!fs::exists(options.out));
  }
};

KV_TEST(SweepShardsTest)
#include "sweep_shards_test.moc"
