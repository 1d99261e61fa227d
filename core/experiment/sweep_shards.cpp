// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_shards.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "core/api/guarded.h"
#include "core/api/part_file.h"
#include "core/experiment/sweep_files.h"
#include "core/experiment/sweep_groups.h"
#include "core/experiment/sweep_journal.h"
#include "core/experiment/sweep_runner.h"
#include "core/model/files/strict_json.h"

namespace kvlab {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr int kMostShards = 1000;  // Slurm's default MaxArraySize is 1001
constexpr const char* kNotMerged = "the shards were not merged";

std::string journalIn(const std::string& folder) { return folder + "/journal.jsonl"; }

/// I of a folder shard-I; 0 = another name.
int shardNumber(const fs::path& folder) {
  static constexpr std::string_view kPrefix = "shard-";
  const std::string name = folder.filename().string();
  int out = 0;
  if (!name.starts_with(kPrefix)) return 0;
  const auto [end, failed] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), out);
  return failed == std::errc() && end == name.data() + name.size() ? out : 0;
}

/// The shards of a folder by their numbers, or the folder itself.
std::vector<std::string> foldersOf(const std::string& folder) {
  std::map<int, std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (const int number = shardNumber(entry.path()); number > 0 && entry.is_directory(none))
      found[number] = entry.path().string();
  if (found.empty()) return {folder};
  std::vector<std::string> out;
  for (auto& [number, path] : found) out.push_back(std::move(path));
  return out;
}

SweepShard shardIn(const Json& head) {
  const Json shard = head.value("shard", Json());
  if (!shard.is_object()) return {};
  return {shard.value("index", 1), shard.value("count", 1)};
}

struct ReadShard {
  std::string folder;
  JournalLines journal;
};

/// A value in an error's text.
std::string brief(const Json& head, const std::string& key) {
  constexpr std::size_t kMost = 100;
  const std::string text = head.value(key, Json()).dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > kMost ? text.substr(0, kMost) + ".." : text;
}

bool sameValue(const Json& a, const Json& b) {  // the order of keys says nothing
  return nlohmann::json::parse(a.dump()) == nlohmann::json::parse(b.dump());
}

/// Whether two journals belong to one sweep.
Status sameSweep(const ReadShard& a, const ReadShard& b) {
  static constexpr std::pair<const char*, const char*> kIdentity[] = {
      {"kvlab_sweep", "schema"},  {"spec", "specification"},          {"model", "model"}, {"prompts", "prompts"},
      {"numerics", "arithmetic"}, {"policies", "rules from outside"}, {"ids", "cells"}};
  for (const auto& [key, title] : kIdentity) {
    Json first = a.journal.head, second = b.journal.head;
    std::string field = key, what = title;
    if (sameValue(first.value(field, Json()), second.value(field, Json()))) continue;
    if (field == "spec" && first["spec"].is_object() && second["spec"].is_object()) {
      first = first["spec"], second = second["spec"];
      for (const auto& [inner, value] : first.items())
        if (!sameValue(value, second.value(inner, Json()))) field = inner;
      for (const auto& [inner, value] : second.items())
        if (!first.contains(inner)) field = inner;
      what += "'s " + field;
    }
    return Error("shards_differ", kNotMerged,
                 "the " + what + " of " + a.folder + " is " + brief(first, field) + ", and that of " + b.folder +
                     " is " + brief(second, field),
                 "run all shards with one specification, model, set of prompts and arithmetic", field);
  }
  return ok();
}

/// "cell 3 (prompts, h2o, seed 2)" as far as it is known.
std::string cellName(const std::vector<SweepCell>& cells, const SweepSpec& spec, std::int64_t index) {
  std::string out = "cell " + std::to_string(index);
  const auto at = static_cast<std::size_t>(index);
  if (at >= cells.size()) return out;
  out += " (" + spec.prompts[cells[at].prompts].name;
  for (const auto& [name, label] : cells[at].axes) out += ", " + label;
  return out + ", seed " + std::to_string(cells[at].seed) + ")";
}

class ShardMerge {
 public:
  explicit ShardMerge(std::string out) : m_out(std::move(out)) {}

  Status read(const std::string& folder) {
    ReadShard shard{folder, {}};
    if (!fs::exists(journalIn(folder)))
      return Error("missing_cells", kNotMerged, folder + " has no journal.jsonl: its shard has not begun",
                   "run the shard, or name the folders of all shards");
    shard.journal = KV_TRY(readJournal(journalIn(folder)));
    if (!shard.journal.head.is_object())
      return Error("missing_cells", kNotMerged, "the journal of " + folder + " is empty: its shard has not begun",
                   "run the shard with --resume");
    m_shards.push_back(std::move(shard));
    return sameSweep(m_shards.front(), m_shards.back());
  }

  Result<SweepOutcome> run() {
    KV_TRY(know());
    for (const ReadShard& shard : m_shards)
      for (const Json& line : shard.journal.lines) KV_TRY(take(shard, line));
    KV_TRY(complete());
    return write();
  }

 private:
  const Json& head() const { return m_shards.front().journal.head; }

  /// The cells' names, where this program knows all the rules of the specification.
  Status know() {
    const Json spec = head().value("spec", Json());
    const Json count = head().value("cells", Json());
    if (!count.is_number_unsigned() || count.get<std::uint64_t>() > (1u << 24))
      return Error("bad_journal", kNotMerged, m_shards.front().folder + " does not say how many cells there are",
                   "run the shard again with another --out");
    m_lines.resize(count.get<std::size_t>());
    m_from.resize(m_lines.size());
    Result<SweepSpec> parsed = SweepSpec::fromJson(nlohmann::json::parse(spec.dump()));
    if (!parsed) return ok();
    m_spec = parsed.take();
    if (Result<std::vector<SweepCell>> cells = sweepCells(m_spec)) m_cells = cells.take();
    return ok();
  }

  Status take(const ReadShard& shard, const Json& line) {
    const SweepRow row = KV_TRY(sweepRow(line.value("row", Json()), journalIn(shard.folder)));
    const auto at = static_cast<std::size_t>(row.index);
    if (row.index < 0 || at >= m_lines.size())
      return Error("bad_journal", kNotMerged,
                   journalIn(shard.folder) + " has a cell " + std::to_string(row.index) + ", and the sweep has " +
                       std::to_string(m_lines.size()),
                   "run the shard again with another --out");
    Json before = m_lines[at], now = line;
    if (before.is_null()) {
      m_lines[at] = line;
      m_from[at] = &shard;
      return ok();
    }
    before.erase("seconds");
    now.erase("seconds");
    if (before == now) return ok();
    return Error("shards_differ", kNotMerged,
                 m_from[at]->folder + " and " + shard.folder +
                     " contradict each other: " + cellName(m_cells, m_spec, row.index) + " has other results",
                 "give each shard once; if both are right, say so in an issue: results must not differ", "cell",
                 row.index);
  }

  Status complete() const {
    constexpr std::size_t kNamed = 5;
    std::vector<std::int64_t> missing;
    nlohmann::json ids = nlohmann::json::array();
    for (std::size_t i = 0; i < m_lines.size(); ++i) {
      if (m_lines[i].is_null()) missing.push_back(static_cast<std::int64_t>(i));
      else ids.push_back(m_lines[i]["row"].value("id", ""));
    }
    if (missing.empty() && hashOf(ids) == head().value("ids", "")) return ok();
    if (missing.empty())
      return Error("bad_journal", kNotMerged, "the cells are not those that the journals were begun with",
                   "run the shards again with another --out");
    std::string names;
    for (std::size_t i = 0; i < std::min(kNamed, missing.size()); ++i) names += placeOf(missing[i]) + "; ";
    if (missing.size() > kNamed) names += std::to_string(missing.size() - kNamed) + " more; ";
    names.resize(names.size() - 2);
    return Error(
        "missing_cells", kNotMerged,
        std::to_string(missing.size()) + " of " + std::to_string(m_lines.size()) + " cells are missing: " + names,
        "finish the shards with --resume, or name the folders of all shards", "cells", missing);
  }

  /// A cell's name and its shard.
  std::string placeOf(std::int64_t cell) const {
    std::string out = cellName(m_cells, m_spec, cell);
    const int count = shardIn(head()).count;
    if (static_cast<std::size_t>(cell) < m_cells.size() && count > 1)
      out += " of shard " + SweepShard{shardOf(m_spec, m_cells[static_cast<std::size_t>(cell)], count), count}.text();
    return out;
  }

  Result<SweepOutcome> write() {
    std::error_code failed;
    fs::create_directories(m_out, failed);
    if (failed) return Error("bad_file", "cannot use the folder " + m_out, failed.message(), "give another --out");
    Json merged = head();
    merged["shard"] = nullptr;
    if (fs::exists(journalIn(m_out))) {
      const JournalLines old = KV_TRY(readJournal(journalIn(m_out)));
      if (!old.head.is_null() && !sameValue(old.head, merged))
        return Error("sweep_exists", kNotMerged, journalIn(m_out) + " holds another sweep or a shard",
                     "give another --out");
    }
    KV_TRY(writeJournal(journalIn(m_out), merged, m_lines));
    KV_TRY(writeSweepFiles(m_out, merged.value("name", "sweep"), m_lines));
    KV_TRY(copyQuestions());
    SweepOutcome out;
    for (const Json& line : m_lines) {
      out.rows.push_back(KV_TRY(sweepRow(line["row"], "the journal")));
      out.failed += out.rows.back().error.has_value();
    }
    out.found = static_cast<std::int64_t>(out.rows.size());
    return out;
  }

  /// Every shard of a sweep with generated samples has all of them.
  Status copyQuestions() const {
    const std::string name = "/questions.jsonl", from = m_shards.front().folder + name;
    std::error_code failed;
    if (!std::filesystem::exists(from, failed)) return ok();
    const std::string samples = KV_TRY(readFile(from, "bad_file", std::size_t{1} << 32));
    KV_TRY(writeWhole(m_out + name, samples));
    return ok();
  }

  const std::string m_out;
  std::vector<ReadShard> m_shards;
  SweepSpec m_spec;
  std::vector<SweepCell> m_cells;        // empty = not known
  std::vector<Json> m_lines;             // by cell; null = missing
  std::vector<const ReadShard*> m_from;  // by cell
};

Result<std::vector<ShardState>> statesOf(const std::string& folder) {
  std::vector<ShardState> out;
  const std::vector<std::string> folders = foldersOf(folder);
  for (const std::string& one : folders) {
    ShardState state;
    state.folder = one;
    const std::string path = journalIn(one);
    const int number = shardNumber(one);
    if (number > 0) state.shard = {number, std::max(number, static_cast<int>(folders.size()))};
    struct stat file = {};
    if (::stat(path.c_str(), &file) != 0 && number == 0)
      return Error("bad_file", "there is no sweep in " + folder, "it has neither journal.jsonl nor folders shard-I",
                   "name the folder that --out named");
    if (::stat(path.c_str(), &file) == 0) {
      const JournalLines journal = KV_TRY(readJournal(path));
      state.last = static_cast<double>(file.st_mtim.tv_sec);
      state.running = journalBusy(path);
      state.done = static_cast<std::int64_t>(journal.lines.size());
      for (const Json& line : journal.lines) state.failed += line.value("row", Json()).contains("error");
      if (journal.head.is_object()) {
        state.shard = shardIn(journal.head);
        const Json shard = journal.head.value("shard", Json());
        state.cells = shard.is_object() ? shard.value("cells", -1) : journal.head.value("cells", -1);
      }
    }
    out.push_back(std::move(state));
  }
  return out;
}

}  // namespace

Result<SweepPlan> planSweep(const std::string& file, SweepOptions& options, int shards) {
  const SweepSpec spec = KV_TRY(namedSweep(file, options));
  const std::vector<SweepCell> cells = KV_TRY(sweepCells(spec));
  SweepPlan out{.name = spec.name,
                .spec = fs::exists(file) ? fs::absolute(file).lexically_normal().string() : file,
                .out = fs::absolute(options.out).lexically_normal().string(),
                .groups = sweepGroups(spec)};
  if (out.out.ends_with('/')) out.out.pop_back();
  const int count = shards > 0 ? shards : std::min(out.groups, kMostShards);
  KV_TRY(checkShard(spec, {1, count}));
  out.cells.resize(static_cast<std::size_t>(count));
  for (const SweepCell& cell : cells) ++out.cells[static_cast<std::size_t>(shardOf(spec, cell, count) - 1)];
  return out;
}

std::string shardFolder(const std::string& out, int index) { return out + "/shard-" + std::to_string(index); }

Result<std::vector<ShardState>> shardStates(const std::string& folder) {
  return guarded("the journals were not read", [&] { return statesOf(folder); });
}

Result<SweepOutcome> mergeSweeps(const std::vector<std::string>& folders, const std::string& out) {
  if (folders.empty())
    return Error("bad_argument", kNotMerged, "no folder is named", "name the folders of the shards", "folders");
  return guarded(kNotMerged, [&]() -> Result<SweepOutcome> {
    ShardMerge merge(out);
    for (const std::string& folder : folders)
      for (const std::string& one : foldersOf(folder)) KV_TRY(merge.read(one));
    return merge.run();
  });
}

}  // namespace kvlab
