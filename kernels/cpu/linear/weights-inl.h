// SPDX-License-Identifier: Apache-2.0
// Rows of weights of any type as f32. Types in blocks give the bits of readBlocks() (block_codes.h): a block is
// unsigned codes and units, 32 values with one scale, for q6_k 16. A value is scale * (code - offset), for some types
// with a least value added.
#if defined(KVLAB_WEIGHTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_WEIGHTS_INL_H
#undef KVLAB_WEIGHTS_INL_H
#else
#define KVLAB_WEIGHTS_INL_H
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

/// block::half() in one instruction where there is one.
HWY_INLINE float halfOf(const uint8_t* at) {
#if HWY_TARGET == HWY_AVX3
  uint16_t bits;
  memcpy(&bits, at, 2);
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
#else
  return block::half(at);
#endif
}

/// The scale and the least value of each unit of a block.
template <DType T>
HWY_INLINE void readUnits(const uint8_t* from, float* scale, float* least) {
  using namespace block;
  if constexpr (T == DType::mxfp4) {
    scale[0] = halfPower(from[0]);
#if HWY_TARGET == HWY_AVX3
  } else if constexpr (T == DType::q6_k) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 192));
    const __m512 d = _mm512_set1_ps(halfOf(from + 208));
    _mm512_storeu_ps(scale, _mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes))));
  } else if constexpr (T == DType::q4_k || T == DType::q5_k) {
    alignas(16) uint8_t packed[16];
    unpackScales(from + 4, packed);
    const __m512i codes = _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(packed)));
    const __m512 d = _mm512_mask_mov_ps(_mm512_set1_ps(halfOf(from)), 0xff00, _mm512_set1_ps(-halfOf(from + 2)));
    const __m512 units = _mm512_mul_ps(d, _mm512_cvtepi32_ps(codes));
    _mm256_storeu_ps(scale, _mm512_castps512_ps256(units));
    _mm256_storeu_ps(least, _mm512_extractf32x8_ps(units, 1));
#endif
  } else if constexpr (T == DType::q6_k) {
    const float d = halfOf(from + 208);
    for (int s = 0; s < 16; ++s) scale[s] = d * static_cast<float>(static_cast<int8_t>(from[192 + s]));
  } else if constexpr (T == DType::q4_k || T == DType::q5_k) {
    const float d = halfOf(from), m = halfOf(from + 2);
    uint8_t packed[16];
    unpackScales(from + 4, packed);
    for (int s = 0; s < 8; ++s) {
      scale[s] = d * static_cast<float>(packed[s]);
      least[s] = -(m * static_cast<float>(packed[8 + s]));
    }
  } else {
    scale[0] = halfOf(from);
    if constexpr (BlockUnits<T>::kLeast) least[0] = halfOf(from + 2);
  }
}

template <DType T>
HWY_INLINE void widenBlock(const uint8_t* from, float* to) {
  using Units = BlockUnits<T>;
  constexpr int64_t kValues = dtypeBlock(T).values, kCount = kValues / Units::kUnit;
  const DF d;
  const hn::RebindToSigned<DF> di;
  const hn::Rebind<uint8_t, DF> du;
  alignas(64) uint8_t codes[kValues];
  float scale[kCount], least[kCount] = {};
  readCodes<T>(from, codes);
  readUnits<T>(from, scale, least);
  for (int64_t i = 0; i < kValues; i += kLanes) {
    const auto code = hn::Sub(hn::PromoteTo(di, hn::LoadU(du, codes + i)), hn::Set(di, Units::kOffset));
    VF value = hn::Mul(hn::Set(d, scale[i / Units::kUnit]), hn::ConvertTo(d, code));
    if constexpr (Units::kLeast) value = hn::Add(value, hn::Set(d, least[i / Units::kUnit]));
    hn::StoreU(value, d, to + i);
  }
}

/// The values of a row or of a part of it, a multiple of a block.
template <DType T>
HWY_INLINE void widenBlocks(const uint8_t* from, float* to, int64_t count) {
  constexpr DTypeBlock kBlock = dtypeBlock(T);
  constexpr int64_t kComing = 2048;  // bytes: memory answers while so many are widened
  for (int64_t i = 0; i < count; i += kBlock.values, from += kBlock.bytes) {
    KVLAB_UNROLL for (int64_t line = 0; line < kBlock.bytes; line += 64) prefetchFar(from + kComing + line);
    widenBlock<T>(from, to + i);
  }
}

/// A row of plain values or of blocks; `count` is a multiple of a block.
HWY_INLINE void readWeights(DType type, const uint8_t* from, float* to, int64_t count) {
  withDType(type, [&](auto t) { readRow<t()>(from, to, count); });
  withBlockType(type, [&](auto t) { widenBlocks<t()>(from, to, count); });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_WEIGHTS_INL_H
