// SPDX-License-Identifier: Apache-2.0
// Arithmetic that device code shares, with the bits of kernels/cpu: exp, stored types, values from memory of any
// alignment. The compiler gets -fmad=false, so only fmaf fuses.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/dtype.h"
#include "kernels/ops/elementwise.h"
#include "kernels/scalar_convert.h"

namespace kvlab::kernels::cuda {

inline constexpr unsigned kWholeWarp = 0xffffffffu;

/// cpu/runtime/exp-inl.h, operation by operation.
KVLAB_HD inline float expOf(float x) {
  const float magic = 12582912.0f;
  const float capped = x > 88.0f ? 88.0f : x;
  const float shifted = fmaf(capped, 0x1.715476p+0f, magic);
  const float n = shifted - magic;
  float r = fmaf(-n, 0x1.62e43p-1f, capped);
  r = fmaf(-n, -0x1.05c61p-29f, r);
  float q = fmaf(0x1.6a241ap-10f, r, 0x1.1239f2p-7f);
  q = fmaf(q, r, 0x1.5558f2p-5f);
  q = fmaf(q, r, 0x1.555492p-3f);
  q = fmaf(q, r, 0x1.fffffcp-2f);
  const float y = fmaf(r * r, q, r) + 1.0f;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(magic);
  return x < -87.33f ? 0.0f : y * std::bit_cast<float>((exponent + 127u) << 23);
}

/// cpu/runtime/exp-inl.h, operation by operation.
KVLAB_HD inline float tanhOf(float x) {
  const float magnitude = fabsf(x), z = x * x;
  float p = fmaf(-0x1.75e17ap-8f, z, 0x1.522688p-6f);
  p = fmaf(p, z, -0x1.b83c56p-5f);
  p = fmaf(p, z, 0x1.110726p-3f);
  p = fmaf(p, z, -0x1.555532p-2f);
  if (magnitude < 0.625f) return fmaf(x * z, p, x);
  const float e = expOf(magnitude * -2.0f);
  return copysignf((1.0f - e) / (1.0f + e), x);
}

KVLAB_HD inline float cappedOf(float x, float cap) { return tanhOf(x / cap) * cap; }

/// cpu/rows/elementwise.cpp: exp(-|s|) never overflows.
KVLAB_HD inline float swigluOf(float g, float u, GateFunction function) {
  float s = g;
  if (function == GateFunction::geluTanh) s = fmaf(g * g * g, 0.044715f, g) * 1.5957691216f;
  if (function == GateFunction::clampedSilu) {
    g = g > kClampedSiluLimit ? kClampedSiluLimit : g;
    u = (u < -kClampedSiluLimit ? -kClampedSiluLimit : u > kClampedSiluLimit ? kClampedSiluLimit : u) + 1.0f;
    s = g * kClampedSiluSlope;
  }
  const float e = expOf(-fabsf(s));
  return (s < 0.0f ? g * e : g) / (1.0f + e) * u;
}

/// Bits of a 16-bit type as f32.
template <DType T>
__device__ __forceinline__ float narrowValue(uint32_t bits) {
  if constexpr (T == DType::bf16) return std::bit_cast<float>(bits << 16);
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(bits)));
  return value;
#else
  return halfToFloat(static_cast<uint16_t>(bits));
#endif
}

/// A 16-bit or 32-bit word from any address.
template <class Word>
__device__ __forceinline__ Word wordFrom(const uint8_t* at) {
  if ((reinterpret_cast<uintptr_t>(at) & (sizeof(Word) - 1)) == 0) return *reinterpret_cast<const Word*>(at);
  uint32_t word = 0;
  for (unsigned i = 0; i < sizeof(Word); ++i) word |= uint32_t{at[i]} << (8 * i);
  return static_cast<Word>(word);
}

/// Value i of an array of type T that starts anywhere.
template <DType T>
__device__ __forceinline__ float valueOf(const void* base, int64_t i) {
  const auto* at = static_cast<const uint8_t*>(base) + i * dtypeBytes(T);
  if constexpr (T == DType::f32) {
    return std::bit_cast<float>(wordFrom<uint32_t>(at));
  } else {
    return narrowValue<T>(wordFrom<uint16_t>(at));
  }
}

__device__ __forceinline__ float valueOf(const void* base, int64_t i, DType t) {
  switch (t) {
    case DType::f16: return valueOf<DType::f16>(base, i);
    case DType::bf16: return valueOf<DType::bf16>(base, i);
    default: return valueOf<DType::f32>(base, i);
  }
}

/// The tree of numerics.h over the lanes of 16 neighbouring threads, lane = thread; all 16 get the sum.
__device__ __forceinline__ float treeOverThreads(unsigned mask, float x) {
  for (int step = 8; step > 0; step /= 2) x = x + __shfl_xor_sync(mask, x, step);
  return x;
}

/// Bits whose unsigned order is that of argmax and topk: NaN lowest, both zeros equal.
__device__ __forceinline__ uint32_t orderOf(float x) {
  if (x != x) return 0;
  if (x == 0.0f) x = 0.0f;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
}

/// Order of the value above, the lower index larger: the word of an entry that ranks earlier is larger.
__device__ __forceinline__ uint64_t rankWord(float x, uint32_t index) {
  return uint64_t{orderOf(x)} << 32 | (0xffffffffu - index);
}

}  // namespace kvlab::kernels::cuda
