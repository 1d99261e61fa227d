// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_files.h"

#include <utility>
#include <vector>

#include "core/api/part_file.h"
#include "core/api/sweep_table.h"
#include "core/files/fingerprint.h"

namespace kvlab {

using Json = nlohmann::ordered_json;

std::string hashOf(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return contentHash(std::as_bytes(std::span(text.data(), text.size())));
}

Status writeSweepFiles(const std::string& folder, const std::string& title, std::span<const Json> lines) {
  std::vector<SweepRow> rows;
  std::string results, timings, answers;
  for (const Json& line : lines) {
    rows.push_back(KV_TRY(sweepRow(line.value("row", Json()), "the journal")));
    SweepRow& row = rows.back();
    row.answers = KV_TRY(sweepAnswers(line.value("answers", Json()), "the journal"));
    answers += answerLines(row);
    results += sweepLine(row) + "\n";
    timings += Json{{"index", row.index}, {"id", row.id}, {"seconds", line.value("seconds", 0.0)}}.dump() + "\n";
  }
  const std::vector<SweepPoint> points = sweepPoints(rows);
  const std::pair<const char*, std::string> files[] = {{"results.jsonl", results},
                                                       {"results.csv", sweepCsv(rows)},
                                                       {"summary.csv", summaryCsv(points)},
                                                       {"pareto.svg", paretoSvg(title, points)},
                                                       {"timings.jsonl", timings}};
  for (const auto& [name, text] : files) KV_TRY(writeWhole(folder + "/" + name, text));
  if (answers.empty()) return ok();
  KV_TRY(writeWhole(folder + "/report.html", sweepHtml(title, rows, points)));
  return writeWhole(folder + "/answers.jsonl", answers);
}

}  // namespace kvlab
