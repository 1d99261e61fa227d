// SPDX-License-Identifier: Apache-2.0
// Scores that follow from a row alone stay with the row: a decision computes those of the rows that have come, were
// written again or are turned by another phase. Pure; any thread.
#pragma once
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

/// Copies the scores of the last decision for resident rows of a group's map that are as they were then: in the same
/// slot, at the same phase, and written by the same commit. out: [resident rows]. Returns the indices in the map of the
/// other rows, ascending.
std::vector<std::size_t> takeScores(const RowValues& scores, const Column<std::int32_t>& scoredBy,
                                    const LayerGroup& group, std::vector<float>& out);

/// The rows of a map at these indices.
ResidencyView partOf(const ResidencyView& map, const std::vector<std::size_t>& indices);

}  // namespace kvlab
