// SPDX-License-Identifier: Apache-2.0
// Bulk conversion between f32 and a storage type, round to nearest even; and rows of an embedding table, gathered and
// converted to f32.
#pragma once

#include <cstdint>

#include "kernels/context.h"
#include "kernels/dtype.h"

namespace kvlab::kernels {

struct ConvertArgs {
  const void* from = nullptr;  ///< [count]
  DType fromType = DType::f32;
  void* to = nullptr;  ///< [count]; may equal `from` only when the types are equal
  DType toType = DType::f32;
  int64_t count = 0;
};

/// One of the two types is f32, or both are equal (a plain copy). From types in blocks (dtype.h) whole blocks become
/// f32; to such types nothing is converted.
void convert(const Context&, const ConvertArgs&);

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
