// SPDX-License-Identifier: Apache-2.0
// Where attention reads the rows of a map in the rotary table: at their phases, and at the blur that the kind of
// session gives them. Engine thread.
#pragma once
#include <vector>

#include "core/model/decoder/rotary.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// [rows of the map] rows of the rotary table.
std::vector<std::int32_t> rotaryRowsOf(const CacheState& state, const ResidencyView& map, Rotary& rotary);

}  // namespace kvlab
