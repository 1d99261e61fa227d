// SPDX-License-Identifier: Apache-2.0
// Several runs over the same tokens, as readers see them: each lane's snapshot with the figures that
// compare the lane with lane 0. core/analysis/metrics.h defines the figures. Immutable and shared; built
// on the engine thread, read on any thread.
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

/// The figures of a lane after one commit. Not-a-number: the commit was not measured.
struct LaneFigures {
  double kl = std::numeric_limits<double>::quiet_NaN();  // KL of the next token, nats
  double dnll =
      std::numeric_limits<double>::quiet_NaN();  // for the token of this tick (the first one of a block), nats
  double top1 = std::numeric_limits<double>::quiet_NaN();  // 1 = the likeliest next token is the reference's, else 0
  std::vector<double> massKept, overlap, needles;          // [layers]; empty = not measured
  double us = 0;                 // time of the commit: the lane's own work, and its rows' share of a common pass
  std::int64_t weightBytes = 0;  // read by the lane's ops; a common pass counts for lane 0

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
  Tick tick;  // the last tick in common with the others
  Error error;
};

struct LaneView {
  std::string label;       // "reference", "ring.window=32, kv.k=int8"
  nlohmann::json changes;  // differences of the manifest from the reference's
  SnapshotPtr snapshot;
  std::optional<LaneExit> exit = {};  // out of step: the figures are of the last common tick
  LaneFigures now = {};               // after the last commit
  // Over the ticks; massKept and overlap: means over layers.
  Summary kl = {}, dnll = {}, top1 = {}, massKept = {}, overlap = {}, us = {};
  Column<LedgerId> taken = {};  // [tokens] ledger id of each token that all lanes took, in order
  /// [tokens] how surprised the lane was by each taken token: -ln p, nats. Measured are tokens of ticks (of a block the
  /// first) and tokens that were scored; the others are not-a-number.
  Column<float> losses = {};
};

/// The error of the newest token's attention (AttentionErrors), mean over layers and query heads; NaN = the last commit
/// was not measured.
double attentionError(const LaneView& lane);

struct LanesView {
  std::vector<LaneView> lanes;        // 0 = the reference
  std::int64_t ticks = 0;             // taken in lockstep
  std::int64_t weightBytes = 0;       // bytes of weights that the ops of all lanes read for the last commit
  bool together = false;              // one pass served all lanes in step
  std::string apart;                  // the reason why there was no common pass: one sentence without a full stop
  std::vector<std::int32_t> needles;  // places in `taken`, ascending
};
using LanesViewPtr = std::shared_ptr<const LanesView>;

/// The report: a row per lane.
nlohmann::json toJson(const LanesView& view);
nlohmann::json toJson(const LaneFigures& figures);

}  // namespace kvlab
