// SPDX-License-Identifier: Apache-2.0
// What an edit of a wLOD session leaves valid. At every level a row is dirty that ends behind the start of the
// earliest edit: it holds the edit (hierarchical), its past does (temporal), or both. Rows stand in order of
// arrival, so the dirty ones are a tail of them. Layer 0 of a dirty row stays valid where its embedding and its
// phase are what they were. semantics.md, section 8. Pure; any thread.
#pragma once
#include <string>
#include <vector>

#include "core/wlod/coverage.h"

namespace kvlab {

struct Invalidation {
  std::int32_t earliest = 0;    // start of the earliest change; the length where nothing changed
  std::int32_t firstDirty = 0;  // row; those before are clean
  std::vector<DirtyWhy> why;    // [rows]
  std::vector<bool> layer0;     // [rows] a dirty row whose layer 0 stays valid
  std::int32_t dirty() const { return static_cast<std::int32_t>(why.size()) - firstDirty; }
};

/// before, after: wlodRows() of the two contexts.
Invalidation invalidate(std::span<const WlodRow> before, std::span<const WlodRow> after,
                        const std::vector<TimelineChange>& changes);

/// What computing rows costs on the running machine; measured by whoever runs passes.
struct RecomputeCosts {
  double rowUs = 1;          // a row through all layers, without attention
  double pairUs = 0.002;     // a row that a query looks at, through all layers
  double incrementalUs = 0;  // to find out what is dirty and to put the new rows beside the old
  double threshold = 0.7;    // above this share of dirty rows everything is computed
};

struct RecomputeChoice {
  bool full = false;
  std::string reason;  // one sentence with the figures
  double share = 0, incrementalUs = 0, fullUs = 0;
};

/// dirtyPairs, pairs: rows that the dirty queries, and that all queries, look at.
RecomputeChoice chooseRecompute(const Invalidation& invalidation, std::int64_t dirtyPairs, std::int64_t pairs,
                                const RecomputeCosts& costs);

}  // namespace kvlab
