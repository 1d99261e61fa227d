// SPDX-License-Identifier: Apache-2.0
// Measures the distance of two sets of f32 rows, with f64 accumulators in a fixed order.
#pragma once

#include <cstdint>

#include "kernels/context.h"

namespace kvlab::kernels {

struct DiffRowsArgs {
  const float* a = nullptr;          ///< [n, dim], the rows under test
  const float* reference = nullptr;  ///< [n, dim]
  int64_t n = 0, dim = 0;
  double* relativeL2 = nullptr;  ///< [n] |a - reference| / |reference|; 0/0 is 0, x/0 is infinite
  double* cosine = nullptr;      ///< [n]; 1 where both are zero, 0 where one is
  double* maxAbs = nullptr;      ///< [n] or null: largest |a - reference|
};

void diffRows(const Context&, const DiffRowsArgs&);

}  // namespace kvlab::kernels
