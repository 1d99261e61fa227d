// SPDX-License-Identifier: Apache-2.0
// What history holds in the pools beside the present state, for checks. Engine thread.
#pragma once
#include "core/state/cache_state.h"
#include "core/state/slot_allocator.h"

namespace kvlab {

struct HeldSlots {
  LayerSlots slots = {};                       // [layers] that history gives back one day
  std::vector<const CacheState*> states = {};  // some older states whose rows lie in the pools
};

}  // namespace kvlab
