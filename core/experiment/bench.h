// SPDX-License-Identifier: Apache-2.0
// `kvlab bench`: figures of this machine, each a median of several runs with its spread, and ratios
// taken in the same run. Results are rows of one JSON schema. Any thread; one at a time.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/api/progress.h"

namespace kvlab {

struct BenchOptions {
  std::string resources;                    // for the demo model
  int threads = 0;                          // 0 = all cores
  bool quick = false;                       // fewer runs and shapes: for tests, not for figures
  std::string model = {}, dtype = {};       // for benches that ask; empty = their own choice
  std::string backend = "cpu";              // cpu, cuda or auto
  std::string numerics = {}, weights = {};  // as in the manifest
  std::string only = {};                    // a case of the bench, which knows what it means; empty = all
};

struct Bench {
  std::string_view name, help;
  /// Appends rows {bench, case, metric, unit, median, min, max, runs, ...}.
  Status (*run)(const BenchOptions& options, nlohmann::json& rows, const Progress& progress);
};

std::span<const Bench> benches();

/// Median, minimum and maximum of samples as a row.
nlohmann::json benchRow(std::string_view bench, const std::string& what, std::string_view metric, std::string_view unit,
                        std::vector<double> samples);

}  // namespace kvlab
