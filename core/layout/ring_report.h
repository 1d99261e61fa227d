// SPDX-License-Identifier: Apache-2.0
// What commits did to rings, for the events of a tick. Pure; engine thread.
#pragma once
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

/// One for each group of layers whose rings are the same.
std::vector<RingCommit> ringCommits(const CacheState& before, const CacheState& after);

}  // namespace kvlab
