// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab sweep: progress on standard error, results in a folder. command_line.h has the exit codes.
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "app/cli/programs.h"
#include "app/plain/core_sweep.h"
#include "app/plain/resources.h"
#include "core/experiment/sweep_estimate.h"
#include "core/experiment/sweep_groups.h"
#include "core/experiment/sweep_shards.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  std::string out;
  if (whole >= 3600) out += std::to_string(whole / 3600) + " h ";
  if (whole >= 60) out += std::to_string(whole / 60 % 60) + " min ";
  return out + std::to_string(whole % 60) + " s";
}

std::string share(std::optional<double> value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value.value_or(0));
  return value ? text : "-";
}

bool tell(const SweepProgress& progress) {
  std::string line = "kvlab: sweep " + std::to_string(progress.done) + "/" + std::to_string(progress.total);
  if (const SweepRow* row = progress.row) {
    line += " " + row->prompts + " seed " + std::to_string(row->seed);
    for (const auto& [name, label] : row->axes) line += " " + name + " " + label;
    line += row->error ? ": failed: " + row->error->text()
        : row->measure("score")
        ? ": score " + share(row->measure("score")) + ", needles " + share(row->measure("needle_survival"))
        : ": recall " + share(row->measure("recall")) + ", KL " + share(row->measure("kl_mean"));
  }
  if (progress.left > 0) line += " (" + duration(progress.left) + " left)";
  std::cerr << line << std::endl;
  return !interrupted();
}

/// What a sweep, a shard or a merge found.
Ending ended(const std::string& name, const std::string& out, const SweepOutcome& outcome, bool whole) {
  for (const SweepRow& row : outcome.rows)
    if (row.error)
      std::cout << "failed: cell " << row.index << " (" << row.series() << ", seed " << row.seed
                << "): " << row.error->text() << "\n";
  std::cout << outcome.rows.size() << " cells, " << outcome.found << " of them from before, " << outcome.failed
            << " failed; results in " << out << (whole ? "" : " once all shards are merged") << "\n";
  json value = sweepAnswer(name, out, outcome);
  if (outcome.failed == 0 || !whole) return value;
  const Error error("failed_cells",
                    std::to_string(outcome.failed) + " of " + std::to_string(outcome.rows.size()) + " cells failed",
                    "each says why in results.csv", "correct the specification and sweep into another --out");
  return {std::move(value), Exit::Failed, error};
}

Ending mergeShards(const CommandLine& line) {
  if (line.out.empty())
    return Error("usage", "the shards were not merged", "--out is missing", "name the folder of the results");
  const SweepOutcome outcome = KV_TRY(mergeSweeps(line.sweep.merge, line.out));
  return ended(std::filesystem::path(line.out).stem().string(), line.out, outcome, true);
}

/// kvlab sweep --dry-run.
Ending estimate(const CommandLine& line, SweepOptions& options) {
  const SweepEstimate found = KV_TRY(estimateSweep(line.file, options));
  std::cout << found.cells << " cells, " << found.tokens << " tokens, about " << duration(found.seconds)
            << " on this machine (" << found.measured << " cells were measured on one story each)\n";
  return json{
      {"cells", found.cells}, {"tokens", found.tokens}, {"seconds", found.seconds}, {"measured", found.measured}};
}

}  // namespace

Ending runSweepCommand(const CommandLine& line) {
  const bool running = line.sweep.merge.empty() && line.sweep.status.empty() && line.sweep.cell.empty();
  if (!line.manifest.empty() && (!running || line.sweep.slurm))
    return Error("usage", "the sweep was not started", "options of a session do not apply: " + line.manifest.dump(),
                 running ? "write them into the specification's base" : "leave them out");
  if (!line.sweep.merge.empty()) return mergeShards(line);
  if (!line.sweep.status.empty()) return printSweepStatus(line);
  if (line.sweep.slurm) return submitSweep(line);
  if (!line.sweep.cell.empty()) return openCellCommand(line);
  SweepOptions options;
  options.out = line.out;
  if (!line.manifest.empty()) options.base = line.manifest;
  options.resources = resourceRoot();
  options.resume = line.resume;
  options.jobs = line.jobs;
  options.progress = tell;
  options.stopped = interrupted;
  if (!line.sweep.shard.empty()) options.shard = KV_TRY(parseShard(line.sweep.shard));
  watchInterrupts();
  if (line.sweep.dryRun) return estimate(line, options);
  const Result<SweepOutcome> outcome = sweep(line.file, options);
  if (!outcome && outcome.error().code == "cancelled" && queueStops())
    return {json::object(), Exit::Again, outcome.error()};
  if (!outcome) return outcome.error();
  return ended(std::filesystem::path(line.file).stem().string(), options.out, *outcome, options.shard.count == 1);
}

}  // namespace kvlab
