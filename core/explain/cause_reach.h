// SPDX-License-Identifier: Apache-2.0
// Where the rows lie that a cause accounts for, and those that no cause accounts for. Pure; any thread.
#pragma once
#include <span>
#include <vector>

#include "core/explain/explain.h"

namespace kvlab {

/// Heads of rows above their bounds, keys or values: [layers of the file][rows, heads].
using WrongHeads = std::vector<std::vector<bool>>;
WrongHeads wrongHeads(std::span<const ExplainedLayer> layers);

/// Where heads lie that are wrong in `all` and not in `but`; but: as `all`, or empty.
RowReach reachOf(const WrongHeads& all, const WrongHeads& but, std::span<const ExplainedLayer> layers,
                 std::int32_t heads);

/// Where a cause shows by what it says of itself: its rows or tokens, layers and heads, else everywhere.
RowReach reachOf(const Cause& cause, std::span<const ExplainedLayer> layers, std::int32_t heads);

}  // namespace kvlab
