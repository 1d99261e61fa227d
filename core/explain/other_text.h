// SPDX-License-Identifier: Apache-2.0
// Reads tokens off values of the first layer, which follow from the token alone. Engine thread.
#pragma once
#include <span>
#include <vector>

#include "core/api/ids.h"
#include "core/api/progress.h"
#include "core/model/decoder/placed_weights.h"

namespace kvlab {

/// The tokens whose values in layer 0 these are, up to a relative distance; -1 = no token's. values: [rows, kvHeads *
/// headDim]. Errors: out_of_memory, device, unsupported (weights on a device), cancelled.
Result<std::vector<TokenId>> tokensOfValues(const std::shared_ptr<const PlacedWeights>& weights,
                                            kernels::Backend& backend, std::span<const float> values, double apart,
                                            const Progress& progress);

}  // namespace kvlab
