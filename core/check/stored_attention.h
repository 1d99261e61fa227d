// SPDX-License-Identifier: Apache-2.0
// Attention output of a row over the stored rows that it sees, computed by the scalar decoder. Engine thread.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "core/check/stored_heads.h"

namespace kvlab {

/// The index of a row in LayerGroup::stored() of a cache layer; none = the rows that it sees there are unknown.
using IndexIn = std::function<std::optional<std::size_t>(CacheLayer)>;

/// [heads*headDim] Output for the row that `row` was projected from; none where a row that it sees has no slot. shaken:
/// moves each stored value up or down by this share of the largest value of its head.
std::optional<std::vector<double>> storedAttention(const CheckInput& input, const ScalarDecoder& decoder,
                                                   const StoredHeads& stored, Layer layer, const ScalarRow& row,
                                                   const IndexIn& indexIn, double shaken = 0);

}  // namespace kvlab
