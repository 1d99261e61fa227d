// SPDX-License-Identifier: Apache-2.0
// Exactness labels of a wLOD session. As long as no row has left a layer, all rows are exact but those that a file
// brought, those that `selective` left as they were, and all rows after these. semantics.md, section 9. Pure; engine
// thread.
#pragma once
#include "core/analysis/exactness.h"
#include "core/kinds/wlod/state/wlod_state.h"

namespace kvlab {

ExactnessMap wlodExactness(const CacheState& state);

}  // namespace kvlab
