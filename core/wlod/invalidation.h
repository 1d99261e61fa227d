// SPDX-License-Identifier: Apache-2.0
// Finds the rows of a wLOD session that an edit leaves valid. At every level a row is dirty if it ends behind the start
// of the earliest edit: the row holds the edit (hierarchical), its past does (temporal), or both. Rows stand in order
// of arrival, so the dirty rows are a tail of the list. Layer 0 of a dirty row stays valid where embedding and phase
// are unchanged. semantics.md, section 8. Pure; any thread.
#pragma once
#include <string>
#include <vector>

#include "core/wlod/coverage.h"

namespace kvlab {

struct Invalidation {
  std::int32_t earliest = 0;    // start of the earliest change; the length where nothing changed
  std::int32_t firstDirty = 0;  // the first dirty row; all rows before are clean
  std::vector<DirtyWhy> why;    // [rows]
  std::vector<bool> layer0;     // [rows] a dirty row whose layer 0 stays valid
  std::int32_t dirty() const { return static_cast<std::int32_t>(why.size()) - firstDirty; }
};

/// before, after: wlodRows() of the two contexts.
Invalidation invalidate(std::span<const WlodRow> before, std::span<const WlodRow> after,
                        const std::vector<TimelineChange>& changes);

/// The cost of computing rows on the running machine, as passes have shown.
struct RecomputeCosts {
  double rowUs = 1;          // of a row through all layers, without attention
  double pairUs = 0.002;     // of a row that a query looks at, through all layers
  double incrementalUs = 0;  // of finding dirty rows and putting new rows beside old ones
  double threshold = 0.7;    // above this share of dirty rows everything is computed
};

struct RecomputeChoice {
  bool full = false;
  std::string reason;  // one sentence with the figures
  double share = 0, incrementalUs = 0, fullUs = 0;
};

/// dirtyPairs: rows that the dirty queries look at, summed over the queries; pairs: the same of all queries.
RecomputeChoice chooseRecompute(const Invalidation& invalidation, std::int64_t dirtyPairs, std::int64_t pairs,
                                const RecomputeCosts& costs);

}  // namespace kvlab
