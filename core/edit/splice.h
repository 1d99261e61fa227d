// SPDX-License-Identifier: Apache-2.0
// The state after a plan: cache maps and mirror together, from the same runs and the same ids. There
// is no function that splices one without the other. Cost: 4 bytes per live row and changed map,
// never K/V. Pure; engine thread.
#pragma once
#include <map>
#include <string>

#include "core/api/manifest.h"
#include "core/edit/edit_plan.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

struct SpliceRules {
  PositionMode position = PositionMode::Context;
  std::map<std::string, double> startBrightness = {};  // per source, else maxBrightness
  float maxBrightness = 255;
};

struct Spliced {
  CacheState state;
  LayerSlots freed;  // [layers] slots that the new state no longer names
};

/// `fresh` = one slot per layer for every plan.rows entry, in order.
Spliced splice(const CacheState& before, const EditPlan& plan, const LayerSlots& fresh,
               const SpliceRules& rules);

/// 0, 1, 2, ... of at least `size` values: the phase column of modes context and cache. Grows the
/// column it is given and returns a prefix of it.
Column<std::int32_t> ramp(Column<std::int32_t>& shared, std::size_t size);

}  // namespace kvlab
