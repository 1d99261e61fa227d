// SPDX-License-Identifier: Apache-2.0
// The working context of a new time line: tokens at the end, LOD1 before the tokens, LOD2 before LOD1, as far as blocks
// are complete and the budget lasts. Pinned tokens stay tokens. Pure; any thread.
#pragma once
#include "core/kinds/wlod/tree/working_context.h"

namespace kvlab {

struct ColdStart {
  std::int32_t tokens = 256;  // number of last moments that should be tokens
  std::int32_t gists = 2048;  // number of moments before these that should be LOD1 or finer
};

/// Entries of the coarsest tiling that keeps the protected tail as tokens.
std::int32_t coarsestCost(std::int32_t length, const WorkingRules& rules);

/// Starts with the coarsest tiling that keeps the protected tail as tokens, then refines from the end backwards while
/// the budget lasts. Error over_budget if the coarsest tiling does not fit.
Result<WorkingContext> coldStart(std::int32_t length, const ColdStart& wish, const WorkingRules& rules);

}  // namespace kvlab
