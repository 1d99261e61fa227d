// SPDX-License-Identifier: Apache-2.0
// The rows of a map that a row sees, for checks: derived row by row from the mask of model and manifest, without the
// functions that passes use. Pure; engine thread.
#pragma once
#include "core/check/map_walk.h"
#include "core/state/commit_deeds.h"

namespace kvlab {

/// The indices [begin, end) of a map.
struct ImpliedRows {
  std::int32_t begin = 0, end = 0;
};

/// Rows that the row at an index of the map sees, itself included. window: phases, the row's own included; 0 = all.
ImpliedRows impliedRows(const ResidencyView& map, std::size_t own, int window);
/// The window of a cache layer; 0 = none.
int windowIn(const CheckInput& input, CacheLayer layer);

}  // namespace kvlab
