// SPDX-License-Identifier: Apache-2.0
// The rows that the queries of a wLOD session attend to in a cache layer: the coverage names them, the layer holds
// them, and the layer's mask lets them through. The pass that computes rows and the exactness labels use the same
// lists. Pure; engine thread. semantics.md, section 8.
#pragma once
#include <vector>

#include "core/kinds/wlod/state/wlod_state.h"

namespace kvlab {

/// [rows of a wLOD state] rows that no query of a cache layer sees; empty = none.
using MissingRows = std::vector<bool>;

/// Rows that were evicted from a layer. Rows that have left through its window are not among them: a pass that needs
/// them computes them again.
MissingRows missingRows(const WlodState& state, const LayerGroup& group);
/// Slots of all rows, -1 where the layer does not hold the row; stored: LayerGroup::stored() of the layer. [rows]
Column<Slot> slotsByRow(const WlodState& state, const ResidencyView& stored);

/// The lists of some queries, one after another. Queries of one block share a list. Each list starts at a multiple of
/// attention's key block, so that a query's bits do not depend on where its list starts.
struct SeenRows {
  std::vector<std::int32_t> rows;        // row numbers of the state
  std::vector<std::int32_t> begin, end;  // [queries]
  std::vector<bool> self;                // [queries] the query attends to its own row, which is not in its list

  /// The first row of each query's list that a mask of `window` phases lets through, [queries]; 0 = all.
  std::vector<std::int32_t> through(const WlodState& state, std::span<const std::int32_t> queries, int window) const;
};

/// queries: rows of the state, ascending; blocks: their coverage.
SeenRows seenRows(std::span<const QueryBlock> blocks, std::span<const std::int32_t> queries,
                  const MissingRows& missing);

/// Fingerprints of the inputs from which a pass would compute `rows` today in a cache layer; the context part stays 0.
/// [rows]
std::vector<Provenance> provenancesOf(const WlodState& state, const SeenRows& seen, std::span<const std::int32_t> rows,
                                      int window);
/// Notes in all groups that these rows were computed from the present rows.
void noteProvenance(CacheState& state, std::span<const std::int32_t> rows);

}  // namespace kvlab
