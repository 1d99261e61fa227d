// SPDX-License-Identifier: Apache-2.0
// Keeps what gates say of the rows of a pass with the rows: CacheState::gateScores. Engine thread.
#pragma once
#include <vector>

#include "core/edit/group_pass.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// scores [layers][rows, kvHeads]. Rows that were never scored in between are not-a-number.
void keepGateScores(CacheState& state, const std::vector<RowTarget>& rows,
                    const std::vector<std::vector<float>>& scores, int kvHeads);

}  // namespace kvlab
