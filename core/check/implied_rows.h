// SPDX-License-Identifier: Apache-2.0
// Parts from which checks compute a row again: its input, the rows that it sees, derived row by row from the mask of
// model and manifest without the functions that passes use, and its attention over them. Pure; engine thread.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "core/check/invariant.h"
#include "core/check/map_walk.h"
#include "core/check/scalar_decoder.h"
#include "core/check/stored_heads.h"
#include "core/state/commit_deeds.h"

namespace kvlab {

/// [hidden] Input of the first layer for a row, made again: the embedding of its token, or the input that the kind of
/// session gives for a row without a token.
std::vector<double> embeddingOf(const CheckInput& input, const ScalarDecoder& decoder, LedgerId id);

/// The indices [begin, end) of a map.
struct ImpliedRows {
  std::int32_t begin = 0, end = 0;
};

/// Rows that the row at an index of the map sees, itself included. window: phases, the row's own included; 0 = all.
ImpliedRows impliedRows(const ResidencyView& map, std::size_t own, int window);
/// The window of a cache layer; 0 = none.
int windowIn(const CheckInput& input, CacheLayer layer);

/// The index of a row in LayerGroup::stored() of a cache layer; none = the rows that it sees there are unknown.
using IndexIn = std::function<std::optional<std::size_t>(CacheLayer)>;

/// [heads*headDim] Attention output over the stored rows that a row sees, computed by the scalar decoder, for the row
/// that `row` was projected from; none where a row that it sees has no slot. shaken: moves each stored value up or down
/// by this share of the largest value of its head.
std::optional<std::vector<double>> storedAttention(const CheckInput& input, const ScalarDecoder& decoder,
                                                   const StoredHeads& stored, Layer layer, const ScalarRow& row,
                                                   const IndexIn& indexIn, double shaken = 0);

}  // namespace kvlab
