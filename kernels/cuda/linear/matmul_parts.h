// SPDX-License-Identifier: Apache-2.0
// The common part of both matmul kernels: 16 bytes of a row as they lie in memory, and pairs of values.
#pragma once

#include "kernels/cuda/runtime/device_math.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/ops/matmul.h"

namespace kvlab::kernels::cuda {

inline bool startsAt16(const void* base, int64_t strideBytes) {
  return (reinterpret_cast<uintptr_t>(base) | static_cast<uintptr_t>(strideBytes)) % 16 == 0;
}

/// Bytes [at, at + 16) of a row of rowBytes, from any address; 0 behind its end.
__device__ inline uint4 chunkOf(const uint8_t* row, int64_t at, int64_t rowBytes, bool aligned) {
  if (aligned && at + 16 <= rowBytes) return *reinterpret_cast<const uint4*>(row + at);
  uint32_t words[4] = {};
#pragma unroll
  for (int i = 0; i < 16; ++i)
    if (at + i < rowBytes) words[i / 4] |= uint32_t{row[at + i]} << (8 * (i % 4));
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/// A sum of products, with the scale where weights are codes, and the bias.
template <DType T>
__device__ __forceinline__ float finished(float sum, const float* scales, const float* bias, int64_t n) {
  if constexpr (T == DType::i8) sum = sum * scales[n];
  return bias ? sum + bias[n] : sum;
}

/// Values 2i and 2i + 1 of a row in shared memory.
template <DType T>
__device__ __forceinline__ float2 pairOf(const uint8_t* row, int i) {
  if constexpr (T == DType::f32) {
    return reinterpret_cast<const float2*>(row)[i];
  } else if constexpr (T == DType::i8) {
    const auto codes = reinterpret_cast<const char2*>(row)[i];
    return make_float2(static_cast<float>(codes.x), static_cast<float>(codes.y));
  } else {
    const uint32_t bits = reinterpret_cast<const uint32_t*>(row)[i];
    return make_float2(narrowValue<T>(bits & 0xffffu), narrowValue<T>(bits >> 16));
  }
}

/// matmul() with weights of type T. Returns 0 or a CUDA error.
template <DType T>
int32_t matmulOf(void* stream, const MatmulArgs&);

inline constexpr int64_t kFewRows = 8;

}  // namespace kvlab::kernels::cuda
