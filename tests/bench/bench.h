// SPDX-License-Identifier: Apache-2.0
// The benchmarks of this folder's program: work below the verbs of a session, and the window itself. Each appends rows
// of benchRow(). Main thread; one at a time.
#pragma once
#include "app/cli/bench.h"
#include "core/api/error.h"

namespace kvlab {

struct BenchOptions {
  std::string resources;                    // for the demo model
  int threads = 0;                          // 0 = all cores
  bool quick = false;                       // fewer runs and shapes: for tests, not for figures
  std::string model = {}, dtype = {};       // for benches that ask; empty = their own choice
  std::string backend = "cpu";              // cpu, cuda or auto
  std::string numerics = {}, weights = {};  // as in the manifest
  std::string only = {};                    // a case of the bench, which defines its meaning; empty = all
};

/// Names the next measurement on standard error.
void say(const std::string& what);

using RunsBench = Status(const BenchOptions& options, nlohmann::json& rows);
RunsBench benchAttention, benchBandwidth, benchDepth, benchEdit, benchHistory, benchMap, benchSnapshot, benchStorage,
    benchWatches, benchWindow;

}  // namespace kvlab
