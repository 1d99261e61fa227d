// SPDX-License-Identifier: Apache-2.0
// Values as attention reads them on a device: stored types, rotated keys, and the fold of 16 lanes that lie
// eight threads wide. The same operations in the same order as kernels/cpu/*-inl.h, hence the same bits.
#pragma once

#include <type_traits>

#include "kernels/cuda/runtime/device_math.h"
#include "kernels/ops/attention.h"
#include "kernels/row_quant.h"

namespace kvlab::kernels::cuda {

/// An aligned T from memory that holds bytes.
template <class T>
__device__ __forceinline__ T wordAt(const void* from) {
#if defined(__CUDA_ARCH__)
  return *static_cast<const T*>(from);
#else
#if !defined(__CUDACC__)
  simt::blockRunner().checkAligned(from, alignof(T), {__FILE__, __LINE__});
#endif
  T word;
  memcpy(&word, from, sizeof word);
  return word;
#endif
}

template <DType T>
__device__ __forceinline__ float2 pairOf(uint32_t bits) {
  if constexpr (T == DType::f16) return make_float2(narrowValue<T>(bits & 0xffffu), narrowValue<T>(bits >> 16));
  return make_float2(std::bit_cast<float>(bits << 16), std::bit_cast<float>(bits & 0xffff0000u));
}

/// Byte i of a word behind the bits of 2^23: the float 2^23 + byte.
__device__ __forceinline__ float byteAsFloat(uint32_t word, int i) {
#if defined(__CUDA_ARCH__)
  return std::bit_cast<float>(__byte_perm(word, 0x4b000000u, 0x7540u | static_cast<uint32_t>(i)));
#else
  return std::bit_cast<float>(0x4b000000u | ((word >> (8 * i)) & 0xffu));
#endif
}

/// Two bytes of E4M3 in the upper halves of 16-bit words -> the 16-bit floats of 1/256 of their values. Only the
/// code of NaN carries into the highest bit of the exponent.
__device__ __forceinline__ uint32_t halvesOfFp8(uint32_t upper) {
  const uint32_t magnitude = (upper & 0x7f007f00u) >> 1, nan = (magnitude + 0x00800080u) & 0x40004000u;
  return (upper & 0x80008000u) | magnitude | nan;
}

/// The factor of the codes of a type: a power of two moves from E4M3 to the scale, exactly.
template <DType T>
__device__ __forceinline__ float factorOf(float scale) {
  return T == DType::fp8e4m3 ? scale * 256.0f : scale;
}

/// The two codes in the lower half of a word, times the factor.
template <DType T>
__device__ __forceinline__ float2 codePair(uint32_t word, float factor) {
  if constexpr (T == DType::i8) {
    const uint32_t shifted = word ^ 0x8080u;  // -128 becomes 0
    return make_float2((byteAsFloat(shifted, 0) - 8388736.0f) * factor,
                       (byteAsFloat(shifted, 1) - 8388736.0f) * factor);
  } else {
    const float2 v = pairOf<DType::f16>(halvesOfFp8(((word & 0xffu) << 8) | ((word & 0xff00u) << 16)));
    return make_float2(v.x * factor, v.y * factor);
  }
}

/// Values e and e + 1 of a row of type T; e even. `factor` is for types with a scale.
template <DType T>
__device__ __forceinline__ float2 pairAt(const uint8_t* row, int e, [[maybe_unused]] float factor = 1.0f) {
  if constexpr (T == DType::f32) {
    return wordAt<float2>(row + 4 * e);
  } else if constexpr (dtypeHasScale(T)) {
    return codePair<T>(wordAt<uint16_t>(row + e), factor);
  } else {
    return pairOf<T>(wordAt<uint32_t>(row + 2 * e));
  }
}

/// Values e .. e + 3 of a row of type T; e a multiple of 4.
template <DType T>
__device__ __forceinline__ float4 quadAt(const uint8_t* row, int64_t e, [[maybe_unused]] float factor = 1.0f) {
  if constexpr (T == DType::f32) {
    return wordAt<float4>(row + 4 * e);
  } else if constexpr (dtypeHasScale(T)) {
    const uint32_t word = wordAt<uint32_t>(row + e);
    const float2 low = codePair<T>(word, factor), high = codePair<T>(word >> 16, factor);
    return make_float4(low.x, low.y, high.x, high.y);
  } else {
    const uint2 bits = wordAt<uint2>(row + 2 * e);
    const float2 low = pairOf<T>(bits.x), high = pairOf<T>(bits.y);
    return make_float4(low.x, low.y, high.x, high.y);
  }
}

/// Calls fn with the type of a row as a constant; types with a scale only where Scaled says so.
template <bool Scaled, class Fn>
__device__ __forceinline__ auto withRowType(DType t, const Fn& fn) {
  if constexpr (Scaled) {
    if (t == DType::i8) return fn(std::integral_constant<DType, DType::i8>());
    if (t == DType::fp8e4m3) return fn(std::integral_constant<DType, DType::fp8e4m3>());
  }
  if (t == DType::f16) return fn(std::integral_constant<DType, DType::f16>());
  if (t == DType::bf16) return fn(std::integral_constant<DType, DType::bf16>());
  return fn(std::integral_constant<DType, DType::f32>());
}

/// The same with a scale that is not multiplied yet.
template <bool Scaled>
__device__ __forceinline__ float4 quadAt(const uint8_t* row, int64_t e, DType t, float scale) {
  return withRowType<Scaled>(t, [&](auto type) { return quadAt<type()>(row, e, factorOf<type()>(scale)); });
}
template <bool Scaled>
__device__ __forceinline__ float rowValueAt(const uint8_t* row, int64_t e, DType t, float scale) {
  if constexpr (Scaled) {
    if (dtypeHasScale(t)) return codeValue(row[e], t) * scale;
  }
  return valueOf(row, e, t);
}

/// A score out of a product of query and key.
__device__ __forceinline__ float scoreOf(const AttentionArgs& a, float product) {
  const float score = product * a.scale;
  return a.cap == 0.0f ? score : cappedOf(score, a.cap);
}

/// The sum of a softmax over all rows with the contribution of the head's sink; 0 if no row is seen.
__device__ __forceinline__ float sumWithSink(const AttentionArgs& a, int head, float most, float sum) {
  return a.sinks && sum != 0.0f ? sum + expOf(a.sinks[head] - most) : sum;
}

/// rotateHead() of cpu/rows/row_codes-inl.h for one pair of values half a head apart.
__device__ __forceinline__ float rotatedLow(float lo, float hi, float cosine, float sine) {
  return fmaf(lo, cosine, -(hi * sine));
}
__device__ __forceinline__ float rotatedHigh(float lo, float hi, float cosine, float sine) {
  return fmaf(hi, cosine, lo * sine);
}

/// Value e of a stored key, rotated where keys are.
template <bool Scaled>
__device__ __forceinline__ float keyAt(const AttentionArgs& a, const uint8_t* key, float scale, const float* table,
                                       int e) {
  const int half = a.fmt.headDim / 2;
  if (a.keysRotated || e == 2 * half) return rowValueAt<Scaled>(key, e, a.fmt.k, scale);
  const int at = e < half ? e : e - half;
  const float lo = rowValueAt<Scaled>(key, at, a.fmt.k, scale), hi = rowValueAt<Scaled>(key, at + half, a.fmt.k, scale),
              cosine = table[at], sine = table[at + half];
  return e < half ? rotatedLow(lo, hi, cosine, sine) : rotatedHigh(lo, hi, cosine, sine);
}

/// The tree of numerics.h over 16 lanes: thread t of eight holds the lanes 2t and 2t + 1 of Rows sums (a power of
/// two up to 8). Two threads `Step` apart add up; while there are rows to share, the lower keeps the first half
/// of them. Returns one sum, of the row foldedRow(); threads that differ in lower bits return the same one.
template <int Rows, int Step = 4>
__device__ __forceinline__ float foldLanes(const float (&sums)[Rows][2], int t) {
  if constexpr (Step == 0) {
    return sums[0][0] + sums[0][1];
  } else if constexpr (Rows == 1) {
    float both[1][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) both[0][i] = sums[0][i] + __shfl_xor_sync(kWholeWarp, sums[0][i], Step);
    return foldLanes<1, Step / 2>(both, t);
  } else {
    const bool upper = (t & Step) != 0;
    float half[Rows / 2][2];
#pragma unroll
    for (int r = 0; r < Rows / 2; ++r)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float given = upper ? sums[r][i] : sums[r + Rows / 2][i];
        const float mine = upper ? sums[r + Rows / 2][i] : sums[r][i];
        half[r][i] = mine + __shfl_xor_sync(kWholeWarp, given, Step);
      }
    return foldLanes<Rows / 2, Step / 2>(half, t);
  }
}

KVLAB_HD constexpr int foldedRow(int rows, int t) { return (t & 7) * rows / 8; }

/// Maximum over the 16 threads of half a warp.
__device__ __forceinline__ float maxOfSixteen(float x) {
#pragma unroll
  for (int step = 8; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, step));
  return x;
}

/// A block of 64 scores, element lane + 16 i in x[i] of half a warp's threads: x becomes exp(x - maximum).
struct BlockSoftmax {
  float max, sum;
};
__device__ __forceinline__ BlockSoftmax softmaxOfBlock(float (&x)[4]) {
  float best = -INFINITY, sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) best = fmaxf(best, x[i]);
  best = maxOfSixteen(best);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[i] = expOf(x[i] - best);
    sum = sum + x[i];
  }
  return {best, treeOverThreads(kWholeWarp, sum)};
}

}  // namespace kvlab::kernels::cuda
