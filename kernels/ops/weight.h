// SPDX-License-Identifier: Apache-2.0
// A weight matrix as ops read it. It owns nothing; whoever made the value keeps the bytes alive. Any thread.
#pragma once

#include <cstdint>

#include "kernels/dtype.h"

namespace kvlab::kernels {

struct Weight {
  const void* data = nullptr;     ///< [n, k], dense; any alignment (a mapped file)
  DType type = DType::f32;        ///< f32, f16, bf16, i8, or a type in blocks, of which k is a multiple
  const float* scales = nullptr;  ///< [n], with i8 alone: the sums of codes are multiplied by them
  int64_t n = 0, k = 0;           ///< outputs, inputs
};

}  // namespace kvlab::kernels
