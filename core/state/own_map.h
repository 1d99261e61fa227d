// SPDX-License-Identifier: Apache-2.0
// A layer's residency map to be damaged on purpose, apart from those of other layers. Engine thread.
#pragma once
#include "core/state/cache_state.h"

namespace kvlab {

/// Puts the layer into a group of its own and returns its map, which nothing else shares.
ResidencyView& ownMap(CacheState& state, CacheLayer layer);

}  // namespace kvlab
