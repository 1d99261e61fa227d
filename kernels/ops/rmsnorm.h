// SPDX-License-Identifier: Apache-2.0
// y = x / sqrt(mean(x^2) + eps) * (weight + weightOffset), row by row (Zhang and Sennrich 2019).
// The sum of squares is a dot product as numerics.h defines it. Also used per head: one row per head.
#pragma once

#include <cstdint>

#include "kernels/context.h"
#include "kernels/dtype.h"

namespace kvlab::kernels {

struct RmsnormArgs {
  const float* x = nullptr;      ///< [rows, dim], row stride xStride
  const void* weight = nullptr;  ///< [dim], any alignment
  DType weightType = DType::f32;
  float weightOffset = 0.0f;  ///< 1 for models that store weight - 1
  float* y = nullptr;         ///< [rows, dim], row stride yStride; may equal x
  int64_t rows = 0, dim = 0;
  int64_t xStride = 0;  ///< in floats; 0 means dim
  int64_t yStride = 0;
  float eps = 1e-5f;
};

void rmsnorm(const Context&, const RmsnormArgs&);

}  // namespace kvlab::kernels
