// SPDX-License-Identifier: Apache-2.0
// Whether a row is what a rebuild would compute today, and if not, why: a fingerprint of what it was
// computed from against today's, and a bit carried forward through the layers. semantics.md,
// section 9. Pure; engine thread.
#pragma once
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

struct ExactnessMap {
  std::vector<std::vector<Exactness>> layers;        // [layers][length] of a row's K and V
  std::vector<std::vector<std::int32_t>> inherited;  // [layers][length] position of the earliest
                                                     // inexact row it saw, -1 = none
};

/// Extends the state's prefix sums. cachePhases: position mode cache.
ExactnessMap exactness(CacheState& state, bool cachePhases);

/// Of a wLOD session: exact but for rows that `selective` left as they were and what came after them.
ExactnessMap exactnessOf(const WlodState& state);

/// Notes every context row as computed from today's context: after a rebuild.
void refreshProvenance(CacheState& state, bool cachePhases);

}  // namespace kvlab
