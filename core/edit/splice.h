// SPDX-License-Identifier: Apache-2.0
// The state after a plan. Maps and mirror are spliced together, from the same runs and the same ids; no function
// splices only one of them. Cost: 4 bytes per live row and changed map, and no K/V. Pure; engine thread.
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
  std::map<std::string, double> startBrightness = {};  // by source; else maxBrightness
  float maxBrightness = 255;

  /// Brightness of a new row.
  float startOf(Source source) const {
    const auto found = startBrightness.find(std::string(name(source)));
    return found == startBrightness.end() ? maxBrightness : static_cast<float>(found->second);
  }
};

struct Spliced {
  CacheState state;
  LayerSlots freed;   // [layers] slots that the new state no longer names
  LayerSlots unused;  // [layers] slots of new rows that windows exclude at once; used only by the pass
};

/// fresh: [layers][plan.rows] one slot for each new row.
Spliced splice(const CacheState& before, const EditPlan& plan, const LayerSlots& fresh, const SpliceRules& rules);

/// At least `size` values 0, 1, 2, ...: the phase column of modes context and cache. Grows `shared` and returns a
/// prefix of it.
Column<std::int32_t> ramp(Column<std::int32_t>& shared, std::size_t size);

/// Groups the layers of a state again. A layer joins the group of an earlier layer of its old group if alike(first,
/// layer); else make(layer) builds a new group. joined(layer, first) is called after a join.
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
