// SPDX-License-Identifier: Apache-2.0
// y = x * w^T (* scale) (+ bias), the product of every linear layer. A row of y has the same bits whatever
// the number of rows in the call (numerics.h).
#pragma once

#include <cstdint>

#include "kernels/context.h"
#include "kernels/ops/weight.h"

namespace kvlab::kernels {

struct MatmulArgs {
  const float* x = nullptr;  ///< [m, k], row stride xStride
  Weight w = {};
  const float* bias = nullptr;  ///< [n] or null
  float* y = nullptr;           ///< [m, n], row stride yStride; overlaps neither x nor w
  int64_t m = 0;
  int64_t xStride = 0;  ///< in floats; 0 means k
  int64_t yStride = 0;  ///< in floats; 0 means n
};

/// With the strides that 0 stands for.
inline MatmulArgs withStrides(MatmulArgs a) {
  if (a.xStride == 0) a.xStride = a.w.k;
  if (a.yStride == 0) a.yStride = a.w.n;
  return a;
}

void matmul(const Context&, const MatmulArgs&);

/// Numerics "portable-bf16" (numerics.h): where w is bf16, x is rounded to bf16 too; else as above. CPU.
void matmulBf16(const Context&, const MatmulArgs&);

/// Numerics "portable-q8" (numerics.h): where w is in blocks, x is rounded to int8; else as matmul(). CPU.
void matmulQ8(const Context&, const MatmulArgs&);

}  // namespace kvlab::kernels
