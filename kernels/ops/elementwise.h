// SPDX-License-Identifier: Apache-2.0
// Value-by-value ops on f32 arrays.
#pragma once

#include <cstdint>

#include "kernels/context.h"

namespace kvlab::kernels {

struct AddArgs {
  const float* a = nullptr;  ///< [count]
  const float* b = nullptr;  ///< [count]
  float* out = nullptr;      ///< [count]; may equal a or b
  int64_t count = 0;
};

void add(const Context&, const AddArgs&);

struct SwigluArgs {
  const float* gate = nullptr;  ///< [rows, dim], row stride gateStride
  const float* up = nullptr;    ///< [rows, dim], row stride upStride
  float* out = nullptr;         ///< [rows, dim], dense; may equal gate or up where that is dense
  int64_t rows = 0, dim = 0;
  int64_t gateStride = 0;  ///< in floats; 0 means dim
  int64_t upStride = 0;
};

/// out = silu(gate) * up, silu(g) = g / (1 + exp(-g)) (Shazeer 2020).
void swiglu(const Context&, const SwigluArgs&);

}  // namespace kvlab::kernels
