// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/core_sweep.h"

#include <filesystem>
#include <fstream>

#include "core/api/read_json.h"
#include "core/experiment/sweep_runner.h"

namespace kvlab {

namespace {

using nlohmann::json;

constexpr std::size_t kHash = 17;  // a journal's line begins with 16 digits and a space
constexpr const char* kNotOpened = "the cell was not opened";

/// The specification in the head of a journal.
Result<SweepSpec> journalSpec(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "journal.jsonl").string();
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line))
    return Error("unreadable_file", kNotOpened, path + " cannot be read",
                 "open the folder of a sweep that this program has run");
  const json head = json::parse(line.size() > kHash ? line.substr(kHash) : "", nullptr, false);
  if (!head.is_object() || !head.contains("spec"))
    return Error("bad_journal", kNotOpened, path + " has no specification in its first line", "run the sweep again");
  return SweepSpec::fromJson(member(head, "spec"));
}

json readJson(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file, nullptr, false);
}

/// The context of the first sample that a sweep wrote for a seed; null where there is none, or where a chat template
/// stands around it.
json firstContext(const std::string& folder, const SweepPrompts& prompts, std::int64_t seed) {
  std::ifstream file((std::filesystem::path(folder) / "questions.jsonl").string());
  for (std::string line; !prompts.use.chat && std::getline(file, line);) {
    const json one = json::parse(line, nullptr, false);
    if (one.is_object() && member(one, "prompts") == prompts.name && member(one, "seed") == seed)
      return member(one, "context");
  }
  return {};
}

/// The first story that cells of a seed read; null where it is given as ids, or is not there.
json firstStory(const SweepPrompts& prompts, std::int64_t seed, const std::string& resources) {
  static constexpr std::string_view kResource = "resource:";
  const std::string file = prompts.file.starts_with(kResource)
      ? (std::filesystem::path(resources) / prompts.file.substr(kResource.size())).string()
      : prompts.file;
  const json set = prompts.set.is_null() ? readJson(file) : prompts.set;
  if (set.is_array()) {
    const json& first = element(set, 0);
    return first.is_object() ? member(first, "context") : json();
  }
  if (!set.is_object()) return {};
  json stories = member(set, "stories");
  for (const json& one : member(set, "sets"))
    if (one.is_object() && member(one, "seed") == seed) stories = member(one, "stories");
  if (!stories.is_array() || stories.empty() || !stories[0].is_object()) return {};
  return member(element(stories, 0), "text");
}

/// Without the settings of cells on which no result depends: one thread, no history, no checks.
json cellManifest(const SweepSpec& spec, const SweepCell& cell) {
  json out = cell.manifest.toJson();
  for (const char* key : {"threads", "history_bytes", "check"})
    if (!spec.base.contains(key)) out.erase(key);
  return out;
}

json pointJson(const SweepPoint& p) {
  json out{{"prompts", p.prompts}, {"ask", p.ask},         {"series", p.series}, {"cells", p.cells},
           {"failed", p.failed},   {"stories", p.stories}, {"asked", p.asked},   {"right", p.right}};
  if (p.budget) out["budget"] = {{p.budget->ratio ? "ratio" : "tokens", p.budget->value}};
  if (p.asked) out.update({{"recall", p.recall}, {"low", p.low}, {"high", p.high}});
  if (!p.task.empty()) out.update({{"task", p.task}, {"length", p.length}});
  if (p.answers)
    out.update({{"answers", p.answers}, {"score", p.score}, {"scoreLow", p.scoreLow}, {"scoreHigh", p.scoreHigh}});
  for (const auto& [name, value] :
       {std::pair{"kl", p.kl}, {"klAnswer", p.klAnswer}, {"bytes", p.bytes}, {"share", p.share}})
    if (value) out[name] = *value;
  return out;
}

}  // namespace

Result<SweepOutcome> sweep(const json& specOrPath, SweepOptions& options) { return runSweep(specOrPath, options); }

Result<std::int64_t> sweepSize(const json& spec) {
  const SweepSpec read = KV_TRY(SweepSpec::fromJson(spec));
  const std::vector<SweepCell> cells = KV_TRY(sweepCells(read));
  return static_cast<std::int64_t>(cells.size());
}

Result<json> sweepCellRequest(const std::string& folder, std::int64_t cell, const std::string& resources) {
  const SweepSpec spec = KV_TRY(journalSpec(folder));
  const std::vector<SweepCell> cells = KV_TRY(sweepCells(spec));
  if (cell < 0 || cell >= std::ssize(cells))
    return Error("bad_argument", kNotOpened, "there is no cell " + std::to_string(cell),
                 "name one from 0 to " + std::to_string(std::ssize(cells) - 1), "cell", cell);
  const SweepCell& wanted = cells[static_cast<std::size_t>(cell)];
  json out{{"manifest", cellManifest(spec, wanted)}};
  const SweepPrompts& prompts = spec.prompts[wanted.prompts];
  const json story = prompts.task.task.empty() ? firstStory(prompts, wanted.seed, resources)
                                               : firstContext(folder, prompts, wanted.seed);
  if (story.is_string()) out["start"] = {{"text", story}};
  return out;
}

json sweepAnswer(const std::string& name, const std::string& out, const SweepOutcome& outcome) {
  json reply{{"name", name},
             {"out", out},
             {"cells", outcome.rows.size()},
             {"found", outcome.found},
             {"failed", outcome.failed},
             {"points", json::array()},
             {"rows", json::array()}};
  for (const SweepPoint& point : sweepPoints(outcome.rows)) reply["points"].push_back(pointJson(point));
  for (const SweepRow& row : outcome.rows) reply["rows"].push_back(json::parse(sweepLine(row)));
  return reply;
}

}  // namespace kvlab
