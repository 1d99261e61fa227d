// SPDX-License-Identifier: Apache-2.0
// Products of integers (numerics.h, "portable-q8") of up to four rows with weights that are used where they lie. A
// register holds 32 codes of output o and 32 of output o + 8; the sums of 16 outputs are transposed into one register,
// so that scales and lanes are registers of outputs, as in panels. AVX512-VNNI alone; sums of integers are exact in any
// order, so the bits are those of the panels.
#if defined(KVLAB_Q8_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_Q8_STREAM_INL_H
#undef KVLAB_Q8_STREAM_INL_H
#else
#define KVLAB_Q8_STREAM_INL_H
#endif
#undef KVLAB_ROLLED

#include <hwy/cache_control.h>

#include "kernels/cpu/linear/q8_panel-inl.h"
#include "kernels/ops/matmul.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

// A loop over blocks stays one: unrolled, its instructions leave the cache.
#if defined(__GNUC__) && !defined(__clang__)
#define KVLAB_ROLLED _Pragma("GCC unroll 1")
#else
#define KVLAB_ROLLED
#endif

#if HWY_TARGET == HWY_AVX3
constexpr int64_t kQ8StreamRows = 4;

/// sum + products of four codes each. AVX512-VNNI, which this Highway target does not include; whoever comes here has
/// asked for it. Values go in and out, so that no array has an address and sums stay in registers.
HWY_INLINE __m512i addFour(__m512i sum, __m512i codes, __m512i x) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(x));
  return sum;
}
HWY_INLINE __m512i addFour(__m512i sum, __m512i codes, const int8_t* x) {
  const auto& four = *reinterpret_cast<const int32_t(*)[1]>(x);
  __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(codes), "m"(four));
  return sum;
}

/// The blocks at one place of sixteen rows.
struct SixteenBlocks {
  const uint8_t *first, *ninth;
  int64_t stride, three, five, seven;  // bytes to the next row, the third, the fifth and the seventh
  __m512i offsets;                     // byte offsets of the rows

  SixteenBlocks(const uint8_t* w, int64_t rowBytes)
      : first(w),
        ninth(w + 8 * rowBytes),
        stride(rowBytes),
        three(3 * rowBytes),
        five(5 * rowBytes),
        seven(7 * rowBytes),
        offsets(_mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                   _mm512_set1_epi32(static_cast<int32_t>(rowBytes)))) {}

  /// Row o of `from`'s eight; one address of an instruction.
  template <int o>
  HWY_INLINE const uint8_t* row(const uint8_t* from) const {
    if constexpr (o < 3) return from + o * stride;
    else if constexpr (o == 4) return from + 4 * stride;
    else return from + (o == 3 ? three : o == 5 ? five : o == 6 ? 2 * three : seven);
  }
  /// The word at `place` of each block.
  HWY_INLINE __m512i words(int place) const { return _mm512_i32gather_epi32(offsets, first + place, 1); }
  HWY_INLINE void pass(int64_t bytes) { first += bytes, ninth += bytes; }
};

HWY_INLINE __m512 lowerHalves(__m512i words) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)); }
HWY_INLINE __m512 upperHalves(__m512i words) { return lowerHalves(_mm512_srli_epi32(words, 16)); }

/// One byte of each word times d, or of -d.
template <int byte, bool sign>
HWY_INLINE __m512 byteTimes(__m512i words, __m512 d) {
  const __m512i byteOf = sign ? _mm512_srai_epi32(_mm512_slli_epi32(words, 24 - 8 * byte), 24)
                              : _mm512_and_si512(_mm512_srli_epi32(words, 8 * byte), _mm512_set1_epi32(255));
  return _mm512_mul_ps(d, _mm512_cvtepi32_ps(byteOf));
}
template <bool sign, int... byte>
HWY_INLINE void bytesTimes(__m512i words, __m512 d, float* to, std::integer_sequence<int, byte...>) {
  (_mm512_store_ps(to + byte * kOutputs, byteTimes<byte, sign>(words, d)), ...);
}

/// readScales() by registers.
template <DType T>
HWY_INLINE void scalesOf(const SixteenBlocks& b, float* scales, float* least) {
  const std::make_integer_sequence<int, 4> four;
  if constexpr (T == DType::mxfp4) {  // halfPower()
    const __m512i e = _mm512_and_si512(b.words(0), _mm512_set1_epi32(255)), one = _mm512_set1_epi32(1);
    const __m512i small = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
    const __m512i power = _mm512_slli_epi32(_mm512_sub_epi32(e, one), 23);
    _mm512_store_si512(scales, _mm512_mask_mov_epi32(power, _mm512_cmple_epi32_mask(e, one), small));
  } else if constexpr (T == DType::q6_k) {
    const __m512 d = upperHalves(b.words(206));
    for (int part = 0; part < 4; ++part)
      bytesTimes<true>(b.words(192 + 4 * part), d, scales + 4 * part * kOutputs, four);
  } else if constexpr (T == DType::q4_k || T == DType::q5_k) {  // scaleOf() and minimumOf(), four at a time
    const __m512i halves = b.words(0), in0 = b.words(4), in1 = b.words(8), in2 = b.words(12);
    const __m512i six = _mm512_set1_epi32(0x3f3f3f3f), low = _mm512_set1_epi32(0x0f0f0f0f),
                  top = _mm512_set1_epi32(0x30303030);
    const auto upper = [&](__m512i words) { return _mm512_and_si512(_mm512_srli_epi32(words, 2), top); };
    const __m512 d = lowerHalves(halves), m = _mm512_sub_ps(_mm512_set1_ps(-0.0f), upperHalves(halves));
    bytesTimes<false>(_mm512_and_si512(in0, six), d, scales, four);
    bytesTimes<false>(_mm512_or_si512(_mm512_and_si512(in2, low), upper(in0)), d, scales + 4 * kOutputs, four);
    bytesTimes<false>(_mm512_and_si512(in1, six), m, least, four);
    bytesTimes<false>(_mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(in2, 4), low), upper(in1)), m,
                      least + 4 * kOutputs, four);
  } else {
    const __m512i halves = b.words(0);
    _mm512_store_ps(scales, lowerHalves(halves));
    if constexpr (BlockUnits<T>::kLeast) _mm512_store_ps(least, upperHalves(halves));
  }
}

/// 16 bytes of each of two rows as [low, high, low, high].
HWY_INLINE __m512i nibblesOf(const uint8_t* one, const uint8_t* other) {
  const __m512i first = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(one)));
  const __m512i both =
      _mm512_mask_broadcast_i32x4(first, 0xff00, _mm_loadu_si128(reinterpret_cast<const __m128i*>(other)));
  const __m512i shifts =
      _mm512_setr_epi64(0, 0, 0x0004000400040004, 0x0004000400040004, 0, 0, 0x0004000400040004, 0x0004000400040004);
  return _mm512_and_si512(_mm512_srlv_epi16(both, shifts), _mm512_set1_epi8(15));
}

/// 32 bytes of each of two rows.
HWY_INLINE __m512i bytesOf(const uint8_t* one, const uint8_t* other) {
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(one));
  return _mm512_inserti64x4(_mm512_castsi256_si512(first), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(other)),
                            1);
}

HWY_INLINE __m512i lowHalves(__m512i bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi8(15)); }
HWY_INLINE __m512i highHalves(__m512i bytes) { return lowHalves(_mm512_srli_epi16(bytes, 4)); }

/// Codes [32 part, 32 part + 32) of two blocks.
template <DType T, int part>
HWY_INLINE __m512i codesOf(const uint8_t* one, const uint8_t* other) {
  const __m512i sixteen = _mm512_set1_epi8(16);
  if constexpr (T == DType::q8_0) {
    return _mm512_xor_si512(bytesOf(one + 2, other + 2), _mm512_set1_epi8(-128));
  } else if constexpr (T == DType::q4_0 || T == DType::q4_1) {
    constexpr int kLow = T == DType::q4_1 ? 4 : 2;
    return nibblesOf(one + kLow, other + kLow);
  } else if constexpr (T == DType::q5_0 || T == DType::q5_1) {
    constexpr int kBits = T == DType::q5_1 ? 4 : 2;
    uint32_t bits[2];
    memcpy(bits, one + kBits, 4);
    memcpy(bits + 1, other + kBits, 4);
    const __m512i codes = nibblesOf(one + kBits + 4, other + kBits + 4);
    return _mm512_mask_add_epi8(codes, uint64_t{bits[1]} << 32 | bits[0], codes, sixteen);
  } else if constexpr (T == DType::q4_k || T == DType::q5_k) {
    constexpr int kLow = (T == DType::q5_k ? 48 : 16) + part / 2 * 32;
    const __m512i bytes = bytesOf(one + kLow, other + kLow), codes = part % 2 ? highHalves(bytes) : lowHalves(bytes);
    if constexpr (T == DType::q4_k) return codes;
    const __m512i bit = _mm512_set1_epi8(static_cast<char>(1 << part));
    return _mm512_mask_add_epi8(codes, _mm512_test_epi8_mask(bytesOf(one + 16, other + 16), bit), codes, sixteen);
  } else if constexpr (T == DType::q6_k) {
    constexpr int kLow = part / 4 * 64 + part % 2 * 32, kHigh = 128 + part / 4 * 32, kQuarter = part % 4;
    const __m512i bytes = bytesOf(one + kLow, other + kLow), pairs = bytesOf(one + kHigh, other + kHigh);
    const __m512i moved = kQuarter == 0 ? _mm512_slli_epi16(pairs, 4)
        : kQuarter == 1                 ? _mm512_slli_epi16(pairs, 2)
        : kQuarter == 2                 ? pairs
                                        : _mm512_srli_epi16(pairs, 2);
    return _mm512_or_si512(kQuarter / 2 ? highHalves(bytes) : lowHalves(bytes),
                           _mm512_and_si512(moved, _mm512_set1_epi8(48)));
  } else {
    static_assert(T == DType::mxfp4);
    const __m512i table =
        _mm512_broadcast_i32x4(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    return _mm512_shuffle_epi8(table, nibblesOf(one + 1, other + 1));
  }
}

/// Sums of 16 outputs from registers o of [output o, output o + 8]: over the first 16 codes and over the last 16.
HWY_INLINE void sumsOfOutputs(const __m512i (&p)[8], __m512i& first, __m512i& last) {
  __m512i a[4], b[2];
  KVLAB_UNROLL for (int i = 0; i < 4; ++i) a[i] =
      _mm512_add_epi32(_mm512_unpacklo_epi32(p[2 * i], p[2 * i + 1]), _mm512_unpackhi_epi32(p[2 * i], p[2 * i + 1]));
  KVLAB_UNROLL for (int i = 0; i < 2; ++i) b[i] =
      _mm512_add_epi32(_mm512_unpacklo_epi64(a[2 * i], a[2 * i + 1]), _mm512_unpackhi_epi64(a[2 * i], a[2 * i + 1]));
  first = _mm512_permutex2var_epi64(b[0], _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b[1]);
  last = _mm512_permutex2var_epi64(b[0], _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b[1]);
}

/// One unit of row i: sums are those of its codes.
template <DType T>
HWY_INLINE void addUnit(const Q8Rows& x, int64_t i, int64_t u, const float* scales, const float* least, __m512i sums,
                        __m512& lane) {
  constexpr int64_t kPerBlock = kXBlock / BlockUnits<T>::kUnit;
  if constexpr (BlockUnits<T>::kOffset != 0)
    sums = _mm512_sub_epi32(sums, _mm512_set1_epi32(BlockUnits<T>::kOffset * x.sums[i * x.units + u]));
  const __m512 xScale = _mm512_set1_ps(x.scales[i * (x.k / kXBlock) + u / kPerBlock]);
  lane = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), xScale), _mm512_load_ps(scales), lane);
  if constexpr (BlockUnits<T>::kLeast)
    lane = _mm512_fmadd_ps(_mm512_set1_ps(x.scaledSums[i * x.units + u]), _mm512_load_ps(least), lane);
}

template <DType T, int part, int... o>
HWY_INLINE void codesOfAll(const SixteenBlocks& b, __m512i (&w)[8], std::integer_sequence<int, o...>) {
  ((w[o] = codesOf<T, part>(b.row<o>(b.first), b.row<o>(b.ninth))), ...);
}

/// Asks for the part of 16 blocks that lie `ahead`. All lines of large blocks at once would wait for each other.
template <DType T, int part>
HWY_INLINE void prefetchPart(const uint8_t* ahead) {
  constexpr int64_t kLines = (kOutputs * dtypeBlock(T).bytes + 63) / 64, kParts = dtypeBlock(T).values / 32;
  KVLAB_UNROLL for (int64_t line = kLines * part / kParts; line < kLines * (part + 1) / kParts; ++line)
      prefetchFar(ahead + 64 * line);
}

/// 32 codes of 16 blocks: one unit, of q6_k two. `u` is the first unit of the block, which begins with lane `lane`.
template <DType T, int part, int R, int lane>
HWY_INLINE void addPart(const Q8Rows& x, int64_t u, const SixteenBlocks& blocks, const uint8_t* ahead,
                        const float* scales, const float* least, __m512 (&lanes)[2][R]) {
  constexpr bool kTwo = BlockUnits<T>::kUnit == 16;
  constexpr int kFirst = kTwo ? 2 * part : part;
  const float *own = scales + kFirst * kOutputs, *ownLeast = least + kFirst * kOutputs;
  __m512i w[8];
  prefetchPart<T, part>(ahead);
  codesOfAll<T, part>(blocks, w, std::make_integer_sequence<int, 8>());
  KVLAB_UNROLL for (int i = 0; i < R; ++i) {
    const int8_t* at = x.codes + i * x.k + (u + kFirst) * BlockUnits<T>::kUnit;
    const __m512i codes = _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
    __m512i sums[8], first, last;
    KVLAB_UNROLL for (int o = 0; o < 8; ++o) sums[o] = addFour(_mm512_setzero_si512(), w[o], codes);
    sumsOfOutputs(sums, first, last);
    if constexpr (kTwo) {
      addUnit<T>(x, i, u + kFirst, own, ownLeast, first, lanes[0][i]);
      addUnit<T>(x, i, u + kFirst + 1, own + kOutputs, ownLeast + kOutputs, last, lanes[1][i]);
    } else {
      addUnit<T>(x, i, u + kFirst, own, ownLeast, _mm512_add_epi32(first, last), lanes[(kFirst + lane) % 2][i]);
    }
  }
}

/// All parts of 16 blocks of 256 values.
template <DType T, int R, int lane, int... parts>
HWY_INLINE void addParts(const Q8Rows& x, int64_t u, const SixteenBlocks& blocks, const uint8_t* ahead,
                         const float* scales, const float* least, __m512 (&lanes)[2][R],
                         std::integer_sequence<int, parts...>) {
  (addPart<T, parts, R, lane>(x, u, blocks, ahead, scales, least, lanes), ...);
}

/// One block of each of 16 rows, and past it.
template <DType T, int R, int lane>
HWY_INLINE void streamUnits(const Q8Rows& x, int64_t& u, SixteenBlocks& blocks, const uint8_t*& ahead,
                            __m512 (&lanes)[2][R]) {
  constexpr int64_t kValues = dtypeBlock(T).values, kBytes = dtypeBlock(T).bytes;
  constexpr int64_t kUnits = kValues / BlockUnits<T>::kUnit;
  alignas(64) float scales[kUnits * kOutputs], least[kUnits * kOutputs];
  scalesOf<T>(blocks, scales, least);
  addParts<T, R, lane>(x, u, blocks, ahead, scales, least, lanes, std::make_integer_sequence<int, kValues / 32>());
  blocks.pass(kBytes);
  ahead += kOutputs * kBytes;
  u += kUnits;
}

/// Sixteen outputs from row w of the weights on.
template <DType T, int R>
HWY_NOINLINE void streamSixteen(const Q8Rows& x, const uint8_t* w, float (*out)[kOutputs]) {
  constexpr bool kOne = dtypeBlock(T).values == BlockUnits<T>::kUnit;  // a unit is a block: the next has the other lane
  const int64_t rowBytes = dtypeRowBytes(T, x.k);
  SixteenBlocks blocks(w, rowBytes);
  __m512 lanes[2][R];
  KVLAB_UNROLL for (int i = 0; i < R; ++i) lanes[0][i] = lanes[1][i] = _mm512_setzero_ps();
  const uint8_t* ahead = w + kOutputs * rowBytes;
  int64_t u = 0;
  KVLAB_ROLLED while (u + (kOne ? 1 : 0) < x.units) {
    streamUnits<T, R, 0>(x, u, blocks, ahead, lanes);
    if constexpr (kOne) streamUnits<T, R, 1>(x, u, blocks, ahead, lanes);
  }
  if (u < x.units) streamUnits<T, R, 0>(x, u, blocks, ahead, lanes);
  KVLAB_UNROLL for (int i = 0; i < R; ++i) _mm512_storeu_ps(out[i], _mm512_add_ps(lanes[0][i], lanes[1][i]));
}

/// Columns [j, j + n) of all rows, at most kQ8StreamRows; n <= 16, and the weights have 16 rows at least. If fewer than
/// 16 columns are left, some columns before them are computed once more.
template <DType T>
HWY_INLINE void streamRowsQ8(const MatmulArgs& a, const Q8Rows& x, int64_t j, int64_t n) {
  alignas(64) float out[kQ8StreamRows][kOutputs];
  const int64_t begin = std::min(j, a.w.n - kOutputs);
  const uint8_t* w = static_cast<const uint8_t*>(a.w.data) + begin * dtypeRowBytes(T, a.w.k);
  switch (a.m) {
    case 1: streamSixteen<T, 1>(x, w, out); break;
    case 2: streamSixteen<T, 2>(x, w, out); break;
    case 3: streamSixteen<T, 3>(x, w, out); break;
    default: streamSixteen<T, 4>(x, w, out);
  }
  for (int64_t i = 0; i < a.m; ++i)
    for (int64_t o = j; o < j + n; ++o) {
      const float sum = out[i][o - begin];
      a.y[i * a.yStride + o] = a.bias ? sum + a.bias[o] : sum;
    }
}
#endif

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_Q8_STREAM_INL_H
