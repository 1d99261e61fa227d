// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab sweep: progress on standard error, results in a folder. Exit codes: 0 = all cells done, 1 = some failed or
// stopped, 2 = the folder has a sweep already, 3 = specification, prompts, model or backend refused.
#include <QFileInfo>
#include <cstdio>
#include <iostream>

#include "app/base/resources.h"
#include "app/cli/programs.h"
#include "app/engine/core_sweep.h"
#include "app/jobs/sweep_job.h"

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
                       : ": recall " + share(row->measure("recall")) + ", KL " + share(row->measure("kl_mean"));
  }
  if (progress.left > 0) line += " (" + duration(progress.left) + " left)";
  std::cerr << line << std::endl;
  return !interrupted();
}

}  // namespace

Ending runSweepCommand(const CommandLine& line) {
  if (!line.manifest.empty())
    return Error("usage", "the sweep was not started", "options of a session do not apply: " + line.manifest.dump(),
                 "write them into the specification's base");
  SweepOptions options;
  options.out = line.out;
  options.resources = resourceRoot().toStdString();
  options.resume = line.resume;
  options.jobs = line.jobs;
  options.progress = tell;
  options.stopped = interrupted;
  watchInterrupts();
  const SweepOutcome outcome = KV_TRY(sweep(line.file, options));
  for (const SweepRow& row : outcome.rows)
    if (row.error)
      std::cout << "failed: cell " << row.index << " (" << row.series() << ", seed " << row.seed
                << "): " << row.error->text() << "\n";
  std::cout << outcome.rows.size() << " cells, " << outcome.found << " of them from before, " << outcome.failed
            << " failed; results in " << options.out << "\n";
  json value =
      sweepAnswer(QFileInfo(QString::fromStdString(line.file)).completeBaseName().toStdString(), options.out, outcome);
  if (outcome.failed == 0) return value;
  const Error error("failed_cells",
                    std::to_string(outcome.failed) + " of " + std::to_string(outcome.rows.size()) + " cells failed",
                    "each says why in results.csv", "correct the specification and sweep into another --out");
  return {std::move(value), Exit::Failed, error};
}

}  // namespace kvlab
