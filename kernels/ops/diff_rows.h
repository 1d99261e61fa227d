// SPDX-License-Identifier: Apache-2.0
// Measures the distance of two sets of f32 rows, with f64 accumulators in a fixed order.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/context.h"
#include "kernels/platform.h"

namespace kvlab::kernels {

struct DiffRowsArgs {
  const float* a = nullptr;          ///< [n, dim], the rows under test
  const float* reference = nullptr;  ///< [n, dim]
  int64_t n = 0, dim = 0;
  double* relativeL2 = nullptr;  ///< [n] |a - reference| / |reference|; 0/0 is 0, x/0 is infinite
  double* cosine = nullptr;      ///< [n]; 1 where both are zero, 0 where one is
  double* maxAbs = nullptr;      ///< [n] or null: largest |a - reference|
};

/// Of sums over a row: |a - r|^2 and |r|^2.
KVLAB_HD inline double relativeL2Of(double difference, double reference) {
  if (difference == 0) return 0;
  return reference == 0 ? HUGE_VAL : sqrt(difference / reference);
}

/// Of sums over a row: a.r, |a|^2 and |r|^2.
KVLAB_HD inline double cosineOf(double ar, double aa, double rr) {
  if (aa == 0 && rr == 0) return 1;
  if (aa == 0 || rr == 0) return 0;
  const double c = ar / (sqrt(aa) * sqrt(rr));
  return c < -1.0 ? -1.0 : 1.0 < c ? 1.0 : c;
}

void diffRows(const Context&, const DiffRowsArgs&);

}  // namespace kvlab::kernels
