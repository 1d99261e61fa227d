// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab sweep --status and --slurm. Both know shards by their journals; the queue is not asked. Slurm is reached
// by its command sbatch alone.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "app/cli/programs.h"
#include "app/cli/slurm_files.h"
#include "app/plain/child_process.h"
#include "app/plain/resources.h"
#include "core/api/part_file.h"
#include "core/experiment/sweep_shards.h"

namespace kvlab {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kNotSubmitted = "the sweep was not submitted";

std::string localTime(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts = {};
  char text[32] = "-";
  if (seconds >= 0 && ::localtime_r(&whole, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string stateName(const ShardState& shard) {
  if (shard.finished()) return "finished";
  if (shard.running) return "running";
  return shard.last < 0 ? "not begun" : "stopped";
}

json stateJson(const ShardState& shard) {
  json out{{"shard", shard.shard.text()}, {"folder", shard.folder}, {"done", shard.done}, {"failed", shard.failed},
           {"state", stateName(shard)},   {"cells", nullptr},       {"last", nullptr}};
  if (shard.cells >= 0) out["cells"] = shard.cells;
  if (shard.last >= 0) out["last"] = localTime(shard.last);
  return out;
}

/// The id that sbatch --parsable prints, "12" or "12;cluster".
Result<std::optional<std::string>> submitted(const std::vector<std::string>& words) {
  std::string output;
  const ChildEnd end = runChild({.program = words.front(),
                                 .arguments = {words.begin() + 1, words.end()},
                                 .said = [&](const std::string& line) { output += line + "\n"; }});
  if (!end.started) return std::optional<std::string>();
  std::string id = output.substr(0, output.find_first_of(";\n"));
  const bool number = !id.empty() && std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; });
  if (end.exitCode == 0 && number) return std::optional(std::move(id));
  return Error("not_submitted", kNotSubmitted,
               "sbatch ended with code " + std::to_string(end.exitCode) + " and gave no id: " + output,
               "its messages stand above; correct the options, and submit with --resume");
}

/// Shards that have cells to do, and the folders of all. Errors: shards of another sweep, folders that cannot be made.
Result<std::vector<int>> openShards(const SweepPlan& plan, bool resume) {
  std::vector<int> out;
  const auto count = static_cast<int>(plan.cells.size());
  for (int i = 1; i <= count; ++i) {
    const std::string folder = shardFolder(plan.out, i);
    std::error_code failed;
    if (!fs::exists(folder + "/journal.jsonl", failed)) {
      fs::create_directories(folder, failed);
      if (failed) return Error("bad_file", "cannot use the folder " + folder, failed.message(), "give another --out");
      out.push_back(i);
      continue;
    }
    if (!resume)
      return Error("sweep_exists", kNotSubmitted, folder + " holds a shard of a sweep",
                   "go on with --resume, or give another --out");
    const ShardState state = KV_TRY(shardStates(folder)).front();
    if (state.cells >= 0 && state.shard != SweepShard{i, count})
      return Error("sweep_changed", kNotSubmitted,
                   folder + " holds shard " + state.shard.text() + ", not " + SweepShard{i, count}.text(),
                   "give --array " + std::to_string(state.shard.count) + ", or another --out", "shard");
    if (!state.finished()) out.push_back(i);
  }
  return out;
}

/// Shards of a sweep that is resumed, unless --array says how many; 0 = not known.
int countFound(const std::string& out) {
  if (const Result<std::vector<ShardState>> states = shardStates(out))
    for (const ShardState& one : *states)
      if (one.cells >= 0 && one.shard.count > 1) return one.shard.count;
  return 0;
}

Result<SlurmJob> writeFiles(const CommandLine& line) {
  SweepOptions options;
  options.out = line.out;
  options.resources = resourceRoot();
  SweepPlan plan = KV_TRY(planSweep(line.file, options, line.sweep.array));
  const int before = line.resume && line.sweep.array == 0 ? countFound(plan.out) : 0;
  if (before > 0) plan = KV_TRY(planSweep(line.file, options, before));
  std::vector<int> open = KV_TRY(openShards(plan, line.resume));
  std::error_code none;
  SlurmJob job{.program = fs::read_symlink("/proc/self/exe", none).string(),
               .spec = plan.spec,
               .out = plan.out,
               .name = plan.name,
               .partition = line.sweep.partition,
               .time = line.sweep.time,
               .policyModule = line.sweep.policyModule.empty() ? "" : fs::absolute(line.sweep.policyModule).string(),
               .shards = static_cast<int>(plan.cells.size()),
               .jobs = std::max(1, line.jobs),
               .open = std::move(open)};
  KV_TRY(writeWhole(job.out + "/shards.sbatch", arrayScript(job)));
  KV_TRY(writeWhole(job.out + "/merge.sbatch", mergeScript(job)));
  return job;
}

/// Submits the array, unless all shards are finished, and the merge. Fills `said`; false: there is no sbatch.
Result<bool> submit(const SlurmJob& job, const std::vector<std::string>& more, json& said) {
  std::vector<std::string> merge{"sbatch", "--parsable"};
  if (!job.open.empty()) {
    std::vector<std::string> array{"sbatch", "--parsable"};
    array.insert(array.end(), more.begin(), more.end());
    array.push_back(job.out + "/shards.sbatch");
    const std::optional<std::string> id = KV_TRY(submitted(array));
    if (!id) return false;
    said["array"] = *id;
    std::cout << "array " << *id << ": " << job.open.size() << " of " << job.shards << " shards" << std::endl;
    merge.insert(merge.end(), {"--dependency=afterok:" + *id, "--kill-on-invalid-dep=yes"});
  }
  merge.insert(merge.end(), more.begin(), more.end());
  merge.push_back(job.out + "/merge.sbatch");
  const std::optional<std::string> id = KV_TRY(submitted(merge));
  if (!id) return false;
  said["merge"] = *id;
  std::cout << "merge " << *id << ": results in " << job.out << std::endl;
  return true;
}

}  // namespace

Ending printSweepStatus(const CommandLine& line) {
  const std::vector<ShardState> shards = KV_TRY(shardStates(line.sweep.status));
  json value = json::array();
  std::printf("%-9s %11s %7s  %-19s  %s\n", "shard", "cells", "failed", "last line", "state");
  for (const ShardState& one : shards) {
    const std::string of = one.cells < 0 ? "?" : std::to_string(one.cells);
    std::printf("%-9s %11s %7lld  %-19s  %s\n", one.shard.text().c_str(), (std::to_string(one.done) + "/" + of).c_str(),
                static_cast<long long>(one.failed), localTime(one.last).c_str(), stateName(one).c_str());
    value.push_back(stateJson(one));
  }
  return value;
}

Ending submitSweep(const CommandLine& line) {
  const SlurmJob job = KV_TRY(writeFiles(line));
  json said{{"out", job.out},   {"shards", job.shards}, {"open", job.open},
            {"array", nullptr}, {"merge", nullptr},     {"files", {"shards.sbatch", "merge.sbatch"}}};
  std::cout << "wrote shards.sbatch (" << job.open.size() << " of " << job.shards
            << " shards to run) and merge.sbatch in " << job.out << std::endl;
  if (line.sweep.dryRun) return said;
  std::vector<std::string> more;
  for (const std::string& one : line.args) more.push_back(one);
  const Result<bool> done = submit(job, more, said);
  if (!done) return {std::move(said), exitFor(done.error()), done.error()};
  if (!*done)
    std::cout << "nothing was submitted: this machine has no sbatch; on the cluster: id=$(sbatch --parsable "
                 "shards.sbatch) && sbatch --dependency=afterok:$id merge.sbatch\n";
  return said;
}

}  // namespace kvlab
