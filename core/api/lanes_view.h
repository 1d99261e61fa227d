// SPDX-License-Identifier: Apache-2.0
// Several runs over the same tokens, as readers see them: each lane's snapshot with the figures that
// compare it with lane 0. Immutable and shared; built on the engine thread, read on any. How each figure
// is defined: core/analysis/metrics.h.
#pragma once
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/snapshot.h"
#include "core/api/summary.h"

namespace kvlab {

/// A lane after one commit. Not-a-number: not measured at this commit.
struct LaneFigures {
  double kl = std::numeric_limits<double>::quiet_NaN();  // of the next token, nats
  double dnll =
      std::numeric_limits<double>::quiet_NaN();  // of the token that this tick took (of a block the first), nats
  double top1 = std::numeric_limits<double>::quiet_NaN();  // 1 = the likeliest next token is the reference's, else 0
  std::vector<double> massKept, overlap, needles;          // [layers]; empty = not measured
  double us = 0;                 // of the commit: its own work, and its rows' share of a pass made together
  std::int64_t weightBytes = 0;  // that its ops read; those of a pass made together count for lane 0

  double meanMassKept() const { return mean(massKept); }
  double meanOverlap() const { return mean(overlap); }

 private:
  static double mean(const std::vector<double>& layers) {
    double sum = 0;
    for (const double value : layers) sum += value;
    return layers.empty() ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(layers.size());
  }
};

/// When and why a lane left the others.
struct LaneExit {
  Tick tick;  // the last that it has in common with them
  Error error;
};

struct LaneView {
  std::string label;       // "reference", "ring.window=32, kv.k=int8"
  nlohmann::json changes;  // of the manifest against the reference's
  SnapshotPtr snapshot;
  std::optional<LaneExit> exit;                   // it is out of step; its figures are those of the last tick in step
  LaneFigures now;                                // after the last commit
  Summary kl, dnll, top1, massKept, overlap, us;  // over the ticks; massKept and overlap: means over layers
  Column<LedgerId> taken;                         // [tokens] ledger id of each token that all lanes took, in order
};

struct LanesView {
  std::vector<LaneView> lanes;        // 0 = the reference
  std::int64_t ticks = 0;             // taken in lockstep
  std::int64_t weightBytes = 0;       // of weights that the ops of the last commit read, all lanes
  bool together = false;              // the last pass ran once for all lanes in step
  std::string apart;                  // why not: one sentence without a full stop
  std::vector<std::int32_t> needles;  // places in `taken`, ascending
};
using LanesViewPtr = std::shared_ptr<const LanesView>;

/// The report: a row per lane.
nlohmann::json toJson(const LanesView& view);
nlohmann::json toJson(const LaneFigures& figures);

}  // namespace kvlab
