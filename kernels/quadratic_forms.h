// SPDX-License-Identifier: Apache-2.0
// Quadratic forms of many rows: x'Qx + l.x. No op of a back end: eviction policies ask for it, and they compute on the
// host.
#pragma once

#include <cstdint>

#include "kernels/context.h"

namespace kvlab::kernels {

struct QuadraticFormsArgs {
  const float* x = nullptr;      ///< [rows, dim], row stride xStride
  const float* forms = nullptr;  ///< [count, formWeights(dim)]: for each i, l_i, Q_ii, then Q_ij + Q_ji for j > i
  float* out = nullptr;          ///< [count, rows]
  int64_t rows = 0;
  int32_t count = 0;
  int32_t dim = 0;
  int64_t xStride = 0;  ///< in floats; 0 means dim
};

constexpr int64_t formWeights(int64_t dim) { return dim * (dim + 3) / 2; }

/// The sum over i of x_i (l_i + Q_ii x_i + ...), in ascending order. On the threads of the context's pool.
void quadraticForms(const Context&, const QuadraticFormsArgs&);

}  // namespace kvlab::kernels
