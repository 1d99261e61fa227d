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
  LayerSlots freed;   // [layers] slots that the new state no longer names
  LayerSlots unused;  // [layers] of new rows that windows leave behind at once: scratch of the pass, and no more
};

/// `fresh` = one slot per layer for every plan.rows entry, in order.
Spliced splice(const CacheState& before, const EditPlan& plan, const LayerSlots& fresh, const SpliceRules& rules);

/// 0, 1, 2, ... of at least `size` values: the phase column of modes context and cache. Grows the
/// column it is given and returns a prefix of it.
Column<std::int32_t> ramp(Column<std::int32_t>& shared, std::size_t size);

/// Makes the groups of a state anew: a layer joins the first layer of its old group that it is
/// alike(first, layer) with, else make(layer) builds its group. joined(layer, first) follows a join.
template <class Alike, class Make, class Joined>
void regroup(CacheState& state, Alike alike, Make make, Joined joined) {
  std::vector<LayerGroup> groups;
  std::vector<std::int32_t> groupOf;
  std::vector<CacheLayer> firsts;
  for (const CacheLayer layer : state.layers()) {
    const auto old = [&](CacheLayer l) { return state.groupOf[at(l)]; };
    std::size_t g = 0;
    while (g < firsts.size() && !(old(firsts[g]) == old(layer) && alike(firsts[g], layer))) ++g;
    if (g < firsts.size()) {
      joined(layer, firsts[g]);
    } else {
      firsts.push_back(layer);
      groups.push_back(make(layer));
    }
    groupOf.push_back(static_cast<std::int32_t>(g));
  }
  state.groups = std::move(groups);
  state.groupOf = std::move(groupOf);
}

}  // namespace kvlab
