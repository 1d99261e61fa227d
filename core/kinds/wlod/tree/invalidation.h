// SPDX-License-Identifier: Apache-2.0
// Finds the rows of a wLOD session that an edit leaves valid. At every level a row is dirty if it ends after the start
// of the earliest edit: its own span contains the edit (hierarchical), its past does (temporal), or both. Rows are in
// order of arrival, so the dirty rows are a tail of the list. Layer 0 of a dirty row stays valid if embedding and phase
// are unchanged. The costs that decide about recomputation are measured. semantics.md, section 8. Pure; any thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/kinds/wlod/tree/coverage.h"

namespace kvlab {

struct Invalidation {
  std::int32_t earliest = 0;    // start of the earliest change; the length if nothing changed
  std::int32_t firstDirty = 0;  // first dirty row; all earlier rows are clean
  std::vector<DirtyWhy> why;    // [rows]
  std::vector<bool> layer0;     // [rows] layer 0 of a dirty row would stay valid
  std::int32_t dirty() const { return static_cast<std::int32_t>(why.size()) - firstDirty; }
  /// Share of the dirty rows among all rows.
  double share() const { return why.empty() ? 0 : static_cast<double>(dirty()) / static_cast<double>(why.size()); }
};

/// before, after: wlodRows() of the two contexts.
Invalidation invalidate(std::span<const WlodRow> before, std::span<const WlodRow> after,
                        const std::vector<TimelineChange>& changes);

/// The cost of computing rows on this machine, measured from passes.
struct RecomputeCosts {
  double rowUs = 1;          // per row, through all layers, without attention
  double pairUs = 0.002;     // per attended row, through all layers
  double incrementalUs = 0;  // for finding dirty rows and placing new rows next to old ones
  double threshold = 0.7;    // above this share of dirty rows every row is computed
};

struct RecomputeChoice {
  bool full = false;
  std::string reason;  // one sentence with the figures
  double share = 0, incrementalUs = 0, fullUs = 0;
};

/// dirtyPairs: rows that dirty queries attend to, summed over the queries; pairs: the same over all queries.
RecomputeChoice chooseRecompute(const Invalidation& invalidation, std::int64_t dirtyPairs, std::int64_t pairs,
                                const RecomputeCosts& costs);

/// Estimates the cost of rows on this machine from measured passes: least squares of time over rows and over attended
/// rows, with relative errors. Older passes have less weight. One owner; engine thread.
class CostMeter {
 public:
  /// Adds a pass through all layers: rows, pairs and microseconds.
  void add(std::int64_t rows, std::int64_t pairs, double us);
  /// The measured costs with the threshold of `before`; `before` itself until a pass was added.
  RecomputeCosts costs(const RecomputeCosts& before) const;

 private:
  static constexpr double kFading = 0.98;
  double m_rr = 0, m_rp = 0, m_pp = 0, m_ru = 0, m_pu = 0;  // weighted sums of products
};

}  // namespace kvlab
