// SPDX-License-Identifier: Apache-2.0
// Blocks of weights (block_codes.h) as unsigned codes and units: 32 values with one scale, for q6_k 16. A value is
// scale * (code - offset), for some types with a least value added.
#if defined(KVLAB_BLOCK_UNITS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_BLOCK_UNITS_INL_H
#undef KVLAB_BLOCK_UNITS_INL_H
#else
#define KVLAB_BLOCK_UNITS_INL_H
#endif

#include "kernels/block_codes.h"
#include "kernels/cpu/runtime/lanes-inl.h"
#include "kernels/cpu/runtime/targets.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// blockForm() of a type.
template <DType T>
struct BlockUnits {
  static constexpr int64_t kUnit = blockForm(T).unit;
  static constexpr int kOffset = blockForm(T).zero;
  static constexpr bool kLeast = blockForm(T).least;
};

/// The eight scales and then the eight minima of q4_k and q5_k, a byte each: scaleOf() and minimumOf(), four at a time.
HWY_INLINE void unpackScales(const uint8_t* from, uint8_t* to) {
  uint32_t in[3], out[4];
  memcpy(in, from, 12);
  out[0] = in[0] & 0x3f3f3f3fu;
  out[1] = (in[2] & 0x0f0f0f0fu) | (in[0] >> 6 & 0x03030303u) << 4;
  out[2] = in[1] & 0x3f3f3f3fu;
  out[3] = (in[2] >> 4 & 0x0f0f0f0fu) | (in[1] >> 6 & 0x03030303u) << 4;
  memcpy(to, out, 16);
}

/// Sixteen bytes as 32 codes: the low halves, then the high halves. Bit i of `fifth` becomes bit 4 of code i. One
/// store, where a register holds all codes: loads of them follow.
HWY_INLINE void splitNibbles(const uint8_t* from, uint32_t fifth, uint8_t* codes) {
#if HWY_TARGET == HWY_AVX3
  const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m256i apart = _mm256_inserti128_si256(_mm256_castsi128_si256(both), _mm_srli_epi16(both, 4), 1);
  const __m256i low = _mm256_and_si256(apart, _mm256_set1_epi8(15));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), _mm256_or_si256(low, _mm256_maskz_set1_epi8(fifth, 16)));
#else
  uint64_t in[2], out[4];
  memcpy(in, from, 16);
  for (int i = 0; i < 2; ++i) {
    out[i] = in[i] & 0x0f0f0f0f0f0f0f0fu;
    out[i + 2] = in[i] >> 4 & 0x0f0f0f0f0f0f0f0fu;
  }
  for (int i = 0; i < 4; ++i) {
    const uint64_t each = ((fifth >> 8 * i & 255) * 0x0101010101010101u) & 0x8040201008040201u;
    out[i] |= ((each + 0x7f7f7f7f7f7f7f7fu) & 0x8080808080808080u) >> 3;
  }
  memcpy(codes, out, 32);
#endif
}

/// One block as unsigned codes.
template <DType T>
HWY_INLINE void readCodes(const uint8_t* from, uint8_t* codes) {
  if constexpr (T == DType::q8_0) {
    for (int i = 0; i < 32; ++i) codes[i] = from[2 + i] ^ 0x80;
  } else if constexpr (T == DType::q4_0 || T == DType::q4_1) {
    splitNibbles(from + (T == DType::q4_1 ? 4 : 2), 0, codes);
  } else if constexpr (T == DType::q5_0 || T == DType::q5_1) {
    const uint8_t* bits = from + (T == DType::q5_1 ? 4 : 2);
    uint32_t fifth;
    memcpy(&fifth, bits, 4);
    splitNibbles(bits + 4, fifth, codes);
  } else if constexpr (T == DType::q4_k || T == DType::q5_k) {
    constexpr bool five = T == DType::q5_k;
    const uint8_t *high = from + 16, *low = from + (five ? 48 : 16);
    KVLAB_UNROLL for (int s = 0; s < 8; ++s) {
      for (int i = 0; i < 32; ++i) {
        int code = low[s / 2 * 32 + i] >> (s % 2 * 4) & 15;
        if constexpr (five) code |= (high[i] >> s & 1) << 4;
        codes[s * 32 + i] = static_cast<uint8_t>(code);
      }
    }
  } else if constexpr (T == DType::q6_k) {
    KVLAB_UNROLL for (int s = 0; s < 8; ++s) {
      const uint8_t *low = from + s / 4 * 64 + s % 2 * 32, *high = from + 128 + s / 4 * 32;
      for (int i = 0; i < 32; ++i)
        codes[s * 32 + i] = static_cast<uint8_t>((low[i] >> (s % 4 / 2 * 4) & 15) | (high[i] >> (s % 4 * 2) & 3) << 4);
    }
  } else {
    static_assert(T == DType::mxfp4);
    alignas(16) static constexpr uint8_t kCodes[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
    splitNibbles(from + 1, 0, codes);
#if HWY_TARGET == HWY_SCALAR
    for (int i = 0; i < 32; ++i) codes[i] = kCodes[codes[i]];
#else
    const hn::FixedTag<uint8_t, 16> d;
    for (int i = 0; i < 32; i += 16)
      hn::StoreU(hn::TableLookupBytes(hn::Load(d, kCodes), hn::LoadU(d, codes + i)), d, codes + i);
#endif
  }
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_BLOCK_UNITS_INL_H
