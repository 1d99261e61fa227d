// SPDX-License-Identifier: Apache-2.0
// The working context of a time line that nobody has looked at yet: tokens at its end, LOD1 before them, LOD2
// before these, as far as blocks are complete and the budget lasts. Pure; any thread.
#pragma once
#include "core/wlod/working_context.h"

namespace kvlab {

struct ColdStart {
  std::int32_t tokens = 256;  // last moments that shall stand as tokens
  std::int32_t gists = 2048;  // moments before these that shall stand as LOD1 at least
};

/// Begins with the coarsest tiling that leaves the protected tail alone, then refines from the end backwards
/// while the budget lasts. Errors: over_budget, where the coarsest does not fit.
Result<WorkingContext> coldStart(std::int32_t length, const ColdStart& wish, const WorkingRules& rules);

}  // namespace kvlab
