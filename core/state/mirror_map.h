// SPDX-License-Identifier: Apache-2.0
// The residency map that the mirror demands of a layer: it lists the tokens of the context in their order, without
// those that an eviction has taken from the layer. The state remembers evictions apart from the maps, so a lost entry
// can be told from an evicted one, and a rebuild can make damaged maps anew. Pure; engine thread. semantics.md,
// section 3 (rebuild).
#pragma once
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

/// Rows of the context that a map lacks, in the order of the context. Both have one order.
std::vector<LedgerId> lackedBy(const Column<LedgerId>& context, const ResidencyView& map);

/// True if the group's map lists these rows with their phases, and has a place for a slot of each.
bool followsMirror(const CacheState& state, const LayerGroup& group, bool cachePhases);

/// The map without slots. Rows that have left through the window still count: as many as the group's map has of them,
/// or more where the rows that stay would be more than the layer keeps. cachePhases: position mode cache.
std::shared_ptr<const ResidencyView> mapByMirror(const CacheState& state, const LayerGroup& group, bool cachePhases);

}  // namespace kvlab
