// SPDX-License-Identifier: Apache-2.0
// Slots that history holds in the pools beside the present state, for checks. Engine thread.
#pragma once
#include "core/state/cache_state.h"
#include "core/state/slot_allocator.h"

namespace kvlab {

struct HeldSlots {
  LayerSlots slots = {};                       // [layers] slots that history will give back
  std::vector<const CacheState*> states = {};  // some older states whose rows lie in the pools
};

}  // namespace kvlab
