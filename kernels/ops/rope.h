// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding, in place, half-split pairs (i, i + d/2) as in the Hugging Face Llama
// code (Su et al. 2021):  x1' = x1 cos - x2 sin,  x2' = x2 cos + x1 sin.
// A damped rotation (gists) is a table row whose cos and sin carry the damping. The last value of an odd d does not
// turn.
#pragma once

#include <cstdint>

#include "kernels/context.h"
#include "kernels/row_format.h"

namespace kvlab::kernels {

struct RopeArgs {
  float* x = nullptr;                   ///< [n, heads*headDim], row stride xStride
  const int32_t* phaseIndex = nullptr;  ///< [n], row of the table
  const float* table = nullptr;         ///< [phases, rotaryWidth(headDim)]: cos[d/2] then sin[d/2]
  int64_t n = 0;
  int32_t heads = 0;
  int32_t headDim = 0;
  int64_t xStride = 0;  ///< in floats; 0 means heads*headDim
};

void rope(const Context&, const RopeArgs&);

struct ReorderArgs {
  float* x = nullptr;              ///< [n, heads*headDim], row stride xStride
  const int32_t* order = nullptr;  ///< [headDim], each place once
  int64_t n = 0;
  int32_t heads = 0;
  int32_t headDim = 0;  ///< at most kReorderMax
  int64_t xStride = 0;  ///< in floats; 0 means heads*headDim
};
inline constexpr int32_t kReorderMax = 512;

/// Value i of each head gets the former value order[i], in place.
void reorder(const Context&, const ReorderArgs&);

}  // namespace kvlab::kernels
