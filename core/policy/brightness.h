// SPDX-License-Identifier: Apache-2.0
// Brightness: tokens that receive no attention dim, and the dimmest adjacent pairs are each replaced by one token.
// semantics.md, section 4. Pure; engine thread.
#pragma once
#include <functional>
#include <vector>

#include "core/api/action.h"
#include "core/api/manifest.h"
#include "core/api/report.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// b <- clamp(b - decay + gain * a, 0, max) for every context token, where a is the newest query's attention in the
/// last layer (0 for a token that is not resident there). [length]
Column<float> observedBrightness(const CacheState& state, const BrightnessSettings& settings);

/// Pairs to replace: 0 below the target length, 1 at it, 2 above.
int cullCount(std::int32_t length, int target);

/// The pairs to replace, without overlap, and the pairs that were passed over for them, in the order in which they were
/// looked at: the lowest score max(b[p], b[p+1]) first, among equal scores the lower position. Pinned tokens, tokens
/// missing from the last layer and positions for which `taken` holds take no part. `Culled` marks the `count` chosen
/// pairs; the pair behind them ends the list. Of the pairs passed over only the first 16 are listed.
std::vector<CulledPairNote> dimmestPairs(const CacheState& state, int count,
                                         const std::function<bool(Position)>& taken);

}  // namespace kvlab
