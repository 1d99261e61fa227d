// SPDX-License-Identifier: Apache-2.0
// Products on tensor cores: c += a b of a 16 x 16 and a 16 x 8 matrix of f16 or bf16 values, sums in f32, and
// loads of their parts from shared memory. A warp calls together. With g = lane / 4 and t = lane % 4 a thread holds
//   a[0], a[1]: rows g, g + 8, columns 2t, 2t + 1; a[2], a[3]: the same rows, columns 2t + 8, 2t + 9
//   b0, b1:     column g, rows 2t, 2t + 1 and rows 2t + 8, 2t + 9
//   c[0..1], c[2..3]: rows g, g + 8, columns 2t, 2t + 1
// two values a word, the first in its lower half. For compute capability 8.0 and up, and the emulated device.
#pragma once

#include "kernels/cuda/runtime/device_math.h"

namespace kvlab::kernels::cuda {

/// Two values rounded to nearest, ties to even; `low` in the lower half.
template <DType T>
__device__ __forceinline__ uint32_t roundedPair(float low, float high) {
#if !defined(__CUDACC__)
  const auto bits = [](float x) { return uint32_t{T == DType::f16 ? floatToHalf(x) : floatToBf16(x)}; };
  return bits(low) | bits(high) << 16;
#else
  uint32_t pair = 0;
#if __CUDA_ARCH__ >= 800
  if constexpr (T == DType::f16) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
  return pair;
#endif
}

/// Four matrices of 8 x 8 values: lane i names row i % 8 of matrix i / 8, 16 bytes from a border of 16. A thread gets
/// columns 2t, 2t + 1 of row g of each, or if transposed rows 2t, 2t + 1 of column g.
template <bool Transposed>
__device__ __forceinline__ void loadMatrices(uint32_t (&to)[4], const uint16_t* row) {
#if !defined(__CUDACC__)
  simt::blockRunner().checkAligned(row, 16, {__FILE__, __LINE__});
  const auto rows = simt::broughtByWarp(row);
  const unsigned lane = simt::blockRunner().lane(), g = lane / 4, t = lane % 4;
  for (unsigned i = 0; i < 4; ++i) {
    const uint16_t* const* matrix = &rows[8 * i];
    const uint16_t low = Transposed ? matrix[2 * t][g] : matrix[g][2 * t],
                   high = Transposed ? matrix[2 * t + 1][g] : matrix[g][2 * t + 1];
    to[i] = low | uint32_t{high} << 16;
  }
#elif __CUDA_ARCH__ >= 800
  const auto from = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (Transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  }
#endif
}

template <DType T>
__device__ __forceinline__ void addProduct(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if !defined(__CUDACC__)
  struct Parts {
    uint32_t a[4], b[2];
  };
  const auto parts = simt::broughtByWarp(Parts{{a[0], a[1], a[2], a[3]}, {b0, b1}});
  const unsigned lane = simt::blockRunner().lane(), g = lane / 4, t = lane % 4;
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned shift = 16 * (k % 2), holds = k % 8 / 2;  // lane with column k of a row, row k of a column
      const float x = narrowValue<T>(parts[4 * g + holds].a[k / 8 * 2 + i / 2] >> shift & 0xffffu);
      const float y = narrowValue<T>(parts[4 * (2 * t + i % 2) + holds].b[k / 8] >> shift & 0xffffu);
      c[i] = fmaf(x, y, c[i]);
    }
#elif __CUDA_ARCH__ >= 800
  if constexpr (T == DType::f16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#endif
}

/// 2^x within 2^-22, 0 of -infinity.
__device__ __forceinline__ float powerOfTwo(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

}  // namespace kvlab::kernels::cuda
