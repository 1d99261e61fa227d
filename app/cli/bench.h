// SPDX-License-Identifier: GPL-3.0-or-later
// Benchmarks: the scripts of resources/bench, and their figures as rows of one JSON schema, for a table and for --json.
// The programs of `kvlab bench` and of tests/bench write them. Values; any thread.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/ending.h"

namespace kvlab {

/// Runs the benchmarks that the command line names, or all. measure: the text of the script's bench.rows
/// (resources/bench/parts/rig.js). Progress on standard error, a table on standard output.
using BenchMeasure = std::function<Result<std::string>(const std::string& bench)>;
Ending runBenches(const CommandLine& line, const BenchMeasure& measure);

/// {bench, case, metric, unit, median, p95, min, max, runs} of samples, of which there must be one.
nlohmann::json benchRow(std::string_view bench, const std::string& what, std::string_view metric, std::string_view unit,
                        std::vector<double> samples);
/// Prints rows to standard output.
void printBenchRows(const nlohmann::json& rows);
/// {version, backends, rows}, for --json.
nlohmann::json benchJson(const nlohmann::json& rows);

}  // namespace kvlab
