// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of benchmarks: rows of one JSON schema, as lines of a table and for --json. The programs of `kvlab bench` and
// of tests/bench write them. Values; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kvlab {

/// {bench, case, metric, unit, median, p95, min, max, runs} of samples, of which there must be one.
nlohmann::json benchRow(std::string_view bench, const std::string& what, std::string_view metric, std::string_view unit,
                        std::vector<double> samples);
/// Prints rows to standard output.
void printBenchRows(const nlohmann::json& rows);
/// {version, backends, rows}, for --json.
nlohmann::json benchJson(const nlohmann::json& rows);

}  // namespace kvlab
