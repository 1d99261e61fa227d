// SPDX-License-Identifier: Apache-2.0
// Products of up to four rows with weights in blocks that stream by once: codes become weights in registers, and no
// weight is written to memory. The bits are those of widenBlocks() and streamRows(): the same operations on each value,
// the same lanes and tree. For registers of 16 lanes (AVX-512); other instruction sets widen a few columns first.
#if defined(KVLAB_BLOCK_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_BLOCK_STREAM_INL_H
#undef KVLAB_BLOCK_STREAM_INL_H
#else
#define KVLAB_BLOCK_STREAM_INL_H
#endif

#include "kernels/cpu/linear/dot_stream-inl.h"

#undef KVLAB_STREAMS_BLOCKS
#if HWY_TARGET == HWY_AVX3 && !defined(KVLAB_MAX_LANES)
#define KVLAB_STREAMS_BLOCKS 1

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// Sixteen bytes as integers.
HWY_INLINE __m512i bytesAt(const uint8_t* from) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

/// Types whose codes have four bits: a unit has 16 different weights, and a code chooses one of them.
template <DType T>
constexpr bool kFourBits = T == DType::q4_0 || T == DType::q4_1 || T == DType::q4_k || T == DType::mxfp4;

/// Types whose codes are put together block by block, a byte each.
template <DType T>
constexpr bool kSplitFirst = T == DType::q5_k || T == DType::q6_k;

/// Integers whose lower four bits (four-bit types; the others stay as they are) or whose value is the code minus its
/// offset of values [16 * step, 16 * step + 16) of a block; `from` is the block, or its codes where they are split
/// first.
template <DType T>
HWY_INLINE __m512i codesAt(const uint8_t* from, int step) {
  const __m512i nibble = _mm512_set1_epi32(15);
  if constexpr (T == DType::q8_0) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 + 16 * step)));
  } else if constexpr (T == DType::q4_0 || T == DType::q4_1 || T == DType::mxfp4) {
    const __m512i both = bytesAt(from + (T == DType::mxfp4 ? 1 : T == DType::q4_0 ? 2 : 4));
    return step ? _mm512_srli_epi32(both, 4) : both;
  } else if constexpr (T == DType::q5_0 || T == DType::q5_1) {
    const uint8_t* bits = from + (T == DType::q5_1 ? 4 : 2);
    const __m512i both = bytesAt(bits + 4);
    uint16_t fifth;
    memcpy(&fifth, bits + 2 * step, 2);
    const __m512i code = step ? _mm512_srli_epi32(both, 4) : _mm512_and_epi32(both, nibble);
    const __m512i whole = _mm512_mask_or_epi32(code, fifth, code, _mm512_set1_epi32(16));
    return T == DType::q5_0 ? _mm512_sub_epi32(whole, _mm512_set1_epi32(16)) : whole;
  } else if constexpr (T == DType::q4_k) {
    const __m512i both = bytesAt(from + 16 + step / 4 * 32 + step % 2 * 16);
    return step / 2 % 2 ? _mm512_srli_epi32(both, 4) : both;
  } else {
    static_assert(kSplitFirst<T>);
    return _mm512_sub_epi32(bytesAt(from + 16 * step), _mm512_set1_epi32(BlockUnits<T>::kOffset));
  }
}

/// One unit of a block as a function of its codes.
template <DType T>
struct UnitWeights {
  VF scale, least;  // of four-bit types `scale` is the list of the 16 weights

  HWY_INLINE void open(float scaleOf, float leastOf) {
    const DF d;
    scale = hn::Set(d, scaleOf);
    if constexpr (BlockUnits<T>::kLeast) least = hn::Set(d, leastOf);
    if constexpr (kFourBits<T>) scale = valueOf(listed());
  }
  HWY_INLINE VF of(__m512i codes) const {
    if constexpr (kFourBits<T>) return VF{_mm512_permutexvar_ps(codes, scale.raw)};
    else return valueOf(VF{_mm512_cvtepi32_ps(codes)});
  }

 private:
  HWY_INLINE VF valueOf(VF code) const {
    const VF value = hn::Mul(scale, code);
    if constexpr (BlockUnits<T>::kLeast) return hn::Add(value, least);
    else return value;
  }
  /// The 16 codes in order, minus their offset.
  static HWY_INLINE VF listed() {
    if constexpr (T == DType::mxfp4) return VF{_mm512_setr_ps(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)};
    else return hn::Sub(hn::Iota(DF(), 0), hn::Set(DF(), BlockUnits<T>::kOffset));
  }
};

/// The units of one block in each of N columns, times the M rows of x at the block's place.
template <DType T, int M, int N>
HWY_INLINE void streamBlock(const float* x, int64_t xStride, const uint8_t* w, int64_t wStride, VF (&c)[M][N]) {
  using Units = BlockUnits<T>;
  constexpr int kUnits = static_cast<int>(dtypeBlock(T).values / Units::kUnit), kSteps = Units::kUnit / 16;
  float scale[N][kUnits], least[N][kUnits];
  KVLAB_UNROLL for (int j = 0; j < N; ++j) readUnits<T>(w + j * wStride, scale[j], least[j]);
  alignas(64) uint8_t split[N][kSplitFirst<T> ? dtypeBlock(T).values : 1];
  const uint8_t* from[N];
  KVLAB_UNROLL for (int j = 0; j < N; ++j) {
    from[j] = kSplitFirst<T> ? split[j] : w + j * wStride;
    if constexpr (kSplitFirst<T>) readCodes<T>(w + j * wStride, split[j]);
  }
  KVLAB_UNROLL for (int u = 0; u < kUnits; ++u) {
    UnitWeights<T> unit[N];
    KVLAB_UNROLL for (int j = 0; j < N; ++j) unit[j].open(scale[j][u], Units::kLeast ? least[j][u] : 0.0f);
    KVLAB_UNROLL for (int s = u * kSteps; s < (u + 1) * kSteps; ++s) {
      VF xs[M];
      KVLAB_UNROLL for (int i = 0; i < M; ++i) xs[i] = hn::LoadU(DF(), x + i * xStride + 16 * s);
      KVLAB_UNROLL for (int j = 0; j < N; ++j) {
        const VF weights = unit[j].of(codesAt<T>(from[j], s));
        KVLAB_UNROLL for (int i = 0; i < M; ++i) c[i][j] = mulAdd(xs[i], weights, c[i][j]);
      }
    }
  }
}

/// M x N outputs from column j0 on; x: packed rows, `words` of each.
template <DType T, int M, int N>
HWY_INLINE void streamBlockTile(const MatmulArgs& a, const float* x, int64_t words, int64_t j0) {
  constexpr DTypeBlock kBlock = dtypeBlock(T);
  const int64_t rowBytes = dtypeRowBytes(T, a.w.k);
  const uint8_t* w = static_cast<const uint8_t*>(a.w.data) + j0 * rowBytes;
  VF c[M][N];
  KVLAB_UNROLL for (int i = 0; i < M; ++i) { KVLAB_UNROLL for (int j = 0; j < N; ++j) c[i][j] = hn::Zero(DF()); }
  for (int64_t k = 0, at = 0; k < a.w.k; k += kBlock.values, at += kBlock.bytes) {
    KVLAB_UNROLL for (int64_t line = 0; line < N * kBlock.bytes; line += 64) prefetchFar(w + N * at + line + kAhead);
    streamBlock<T, M, N>(x + k, words, w + at, rowBytes, c);
  }
  alignas(64) float lanes[N * 16];
  for (int i = 0; i < M; ++i) {
    KVLAB_UNROLL for (int j = 0; j < N; ++j) hn::Store(c[i][j], DF(), lanes + j * 16);
    float* y = a.y + i * a.yStride + j0;
    reduceRow(lanes, N, y);
    for (int j = 0; a.bias && j < N; ++j) y[j] += a.bias[j0 + j];
  }
}

template <DType T, int M>
HWY_NOINLINE void streamBlockColumns(const MatmulArgs& a, const float* x, int64_t words, int64_t from, int64_t to) {
  constexpr int kColumns = 4;
  int64_t j = from;
  for (; j + kColumns <= to; j += kColumns) streamBlockTile<T, M, kColumns>(a, x, words, j);
  for (; j < to; ++j) streamBlockTile<T, M, 1>(a, x, words, j);
}

/// Columns [from, to) of up to four rows.
template <DType T>
HWY_INLINE void streamBlocks(const MatmulArgs& a, const float* x, int64_t words, int64_t from, int64_t to) {
  switch (a.m) {
    case 1: return streamBlockColumns<T, 1>(a, x, words, from, to);
    case 2: return streamBlockColumns<T, 2>(a, x, words, from, to);
    case 3: return streamBlockColumns<T, 3>(a, x, words, from, to);
    default: return streamBlockColumns<T, 4>(a, x, words, from, to);
  }
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif  // KVLAB_BLOCK_STREAM_INL_H
