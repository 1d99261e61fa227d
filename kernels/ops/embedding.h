// SPDX-License-Identifier: Apache-2.0
// Rows of an embedding table, gathered and converted to f32.
#pragma once

#include <cstdint>

#include "kernels/context.h"
#include "kernels/dtype.h"

namespace kvlab::kernels {

struct EmbeddingArgs {
  const void* table = nullptr;  ///< [vocabulary, dim], any alignment
  DType tableType = DType::f32;
  const int32_t* ids = nullptr;  ///< [n], each inside the vocabulary (the caller checks)
  float* out = nullptr;          ///< [n, dim]
  int64_t n = 0, dim = 0;
  float scale = 1.0f;  ///< multiplies every value; 1 copies
};

void embedding(const Context&, const EmbeddingArgs&);

}  // namespace kvlab::kernels
