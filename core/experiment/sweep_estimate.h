// SPDX-License-Identifier: Apache-2.0
// How long a sweep, or a shard of it, will take on this machine, from a short measurement. Any thread.
#pragma once
#include "core/api/sweep_table.h"

namespace kvlab {

struct SweepEstimate {
  std::int64_t cells = 0;   // of the shard
  std::int64_t tokens = 0;  // that cells and reference runs read, or are fed
  double seconds = 0;       // with options.jobs threads
  int measured = 0;         // cells that were measured, each on one story
};

/// Reads the first story of each prompt set as its cells will, runs the reference and up to eight cells on it, and
/// multiplies by tokens. Writes nothing. Several threads are taken to run independently, which is too quick
/// where they share one memory. Errors: as runSweep() before its first cell; cancelled, by options.stopped; the error
/// of a cell if none succeeds.
Result<SweepEstimate> estimateSweep(const nlohmann::json& given, SweepOptions& options);

}  // namespace kvlab
