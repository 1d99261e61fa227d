// SPDX-License-Identifier: Apache-2.0
// Writes the files of a finished sweep beside its journal, each file whole or not at all. Any thread.
#pragma once
#include <span>
#include <string>

#include "core/api/sweep_table.h"

namespace kvlab {

struct CellTime {
  std::int64_t index = 0;
  std::string id;
  double seconds = 0;
};

/// results.jsonl, results.csv, summary.csv, pareto.svg and timings.jsonl in `folder`. Error: bad_file.
Status writeSweepFiles(const std::string& folder, const std::string& title, std::span<const SweepRow> rows,
                       std::span<const CellTime> times);

/// A line per point (RFC 4180): prompts, ask, series, budget, cells, failed, stories, asked, right, recall and its
/// interval, kl, kl_answer, bytes, share.
std::string summaryCsv(std::span<const SweepPoint> points);

}  // namespace kvlab
