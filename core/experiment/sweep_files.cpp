// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_files.h"

#include "core/api/part_file.h"
#include "core/api/sweep_table.h"

namespace kvlab {
namespace {

std::string figure(std::optional<double> value) { return value ? nlohmann::json(*value).dump() : std::string(); }

}  // namespace

std::string summaryCsv(std::span<const SweepPoint> points) {
  std::string out =
      csvLine({"prompts", "ask", "series", "budget_ratio", "budget_tokens", "cells", "failed", "stories", "asked",
               "right", "recall", "recall_low", "recall_high", "kl_mean", "kl_answer", "bytes_live", "bytes_share"});
  for (const SweepPoint& p : points) {
    std::vector<std::string> fields{p.prompts, p.ask, p.series};
    for (const bool ratio : {true, false})
      fields.push_back(p.budget && p.budget->ratio == ratio ? figure(p.budget->value) : std::string());
    for (const int count : {p.cells, p.failed, p.stories, p.asked, p.right}) fields.push_back(std::to_string(count));
    for (const double value : {p.recall, p.low, p.high}) fields.push_back(p.asked ? figure(value) : std::string());
    for (const auto& value : {p.kl, p.klAnswer, p.bytes, p.share}) fields.push_back(figure(value));
    out += csvLine(fields);
  }
  return out;
}

Status writeSweepFiles(const std::string& folder, const std::string& title, std::span<const SweepRow> rows,
                       std::span<const CellTime> times) {
  std::string lines, timings;
  for (const SweepRow& row : rows) lines += sweepLine(row) + "\n";
  for (const CellTime& time : times)
    timings += nlohmann::ordered_json{{"index", time.index}, {"id", time.id}, {"seconds", time.seconds}}.dump() + "\n";
  const std::vector<SweepPoint> points = sweepPoints(rows);
  const std::pair<const char*, std::string> files[] = {{"results.jsonl", lines},
                                                       {"results.csv", sweepCsv(rows)},
                                                       {"summary.csv", summaryCsv(points)},
                                                       {"pareto.svg", paretoSvg(title, points)},
                                                       {"timings.jsonl", timings}};
  for (const auto& [name, text] : files) KV_TRY(writeWhole(folder + "/" + name, text));
  return ok();
}

}  // namespace kvlab
