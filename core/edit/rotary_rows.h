// SPDX-License-Identifier: Apache-2.0
// The rows of the rotary table at which attention reads the rows of a map: at their phases, and at the blur that the
// kind of session gives them. Engine thread.
#pragma once
#include <vector>

#include "core/model/decoder/rotary.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// [rows of the map] rows of the rotary table.
std::vector<std::int32_t> rotaryRowsOf(const CacheState& state, const ResidencyView& map, Rotary& rotary);

}  // namespace kvlab
