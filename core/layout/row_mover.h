// SPDX-License-Identifier: Apache-2.0
// Moves rows within a pool where sources and destinations may overlap in any way. Engine thread.
#pragma once
#include <vector>

#include "core/state/row_pool.h"

namespace kvlab {

/// Appends the move of one row to a list of runs of consecutive rows.
void addMove(std::vector<kernels::RowMove>& moves, std::int32_t from, std::int32_t to);

/// Moves whole runs at once. Sources are distinct, and so are destinations. Rows in a cycle of dependencies
/// pass through a side buffer. Returns bytes read and written. Errors: out_of_memory, device.
Result<std::int64_t> moveAll(RowPool& pool, std::vector<kernels::RowMove> moves);

}  // namespace kvlab
