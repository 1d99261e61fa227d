// SPDX-License-Identifier: Apache-2.0
// Reductions over one f32 vector of logits.
#pragma once

#include <cstdint>

#include "kernels/context.h"

namespace kvlab::kernels {

struct ArgmaxArgs {
  const float* x = nullptr;  ///< [n], n >= 1
  int64_t n = 0;
  int64_t* index = nullptr;  ///< receives the lowest index of the largest value; NaN never wins
};

void argmax(const Context&, const ArgmaxArgs&);

struct SoftmaxArgs {
  const float* x = nullptr;  ///< [n], n >= 1
  int64_t n = 0;
  float scale = 1.0f;    ///< multiplies x first: 1 / temperature
  float* out = nullptr;  ///< [n]; may equal x
};

/// Values of minus infinity become 0. Sum of exponentials in 16 virtual lanes.
void softmax(const Context&, const SoftmaxArgs&);

struct TopkArgs {
  const float* x = nullptr;  ///< [n]
  int64_t n = 0;
  int64_t k = 0;               ///< 1..n
  int32_t* indices = nullptr;  ///< [k], largest value first, ties by lower index, NaN last
  float* values = nullptr;     ///< [k] or null
};

void topk(const Context&, const TopkArgs&);

}  // namespace kvlab::kernels
