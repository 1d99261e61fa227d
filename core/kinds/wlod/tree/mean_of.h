// SPDX-License-Identifier: Apache-2.0
// The mean of 32 vectors: sums in ascending order, then one multiplication. Pure.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/api/tree_node.h"

namespace kvlab {

/// children [32, hidden] -> out [hidden].
inline void meanOf(const float* children, std::int64_t hidden, float* out) {
  std::copy(children, children + hidden, out);
  for (std::int64_t i = 1; i < kGistBlock; ++i)
    for (std::int64_t d = 0; d < hidden; ++d) out[d] += children[i * hidden + d];
  for (std::int64_t d = 0; d < hidden; ++d) out[d] *= 1.0f / kGistBlock;
}

}  // namespace kvlab
