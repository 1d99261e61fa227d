// SPDX-License-Identifier: Apache-2.0
// The files of a finished sweep, made of its journal alone: a run and a merge of shards write the same bytes. Pure
// functions but for the files; any thread.
#pragma once
#include <span>
#include <string>

#include "core/api/error.h"

namespace kvlab {

/// Hash of a JSON value, 16 hex digits: ids of cells and of sweeps.
std::string hashOf(const nlohmann::json& value);

/// results.jsonl, results.csv, summary.csv, pareto.svg, timings.jsonl, and answers.jsonl and report.html where answers
/// were generated, in `folder`, each whole or not at all. lines: those of the journal, one per cell in cell order,
/// {"row": a line of results.jsonl, "answers", "seconds"}. Errors: bad_file, bad_results.
Status writeSweepFiles(const std::string& folder, const std::string& title,
                       std::span<const nlohmann::ordered_json> lines);

}  // namespace kvlab
