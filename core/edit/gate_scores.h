// SPDX-License-Identifier: Apache-2.0
// Stores the gate scores of a pass by ledger id, in CacheState::gateScores. Engine thread.
#pragma once
#include <vector>

#include "core/edit/group_pass.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// scores: [layers][rows, kvHeads]. Ledger ids that were never scored get NaN.
void keepGateScores(CacheState& state, const std::vector<RowTarget>& rows,
                    const std::vector<std::vector<float>>& scores, int kvHeads);

}  // namespace kvlab
