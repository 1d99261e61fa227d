// SPDX-License-Identifier: Apache-2.0
// Operands of products of integers (numerics.h, "portable-q8"): rows of x as int8 codes, and a panel of 16 rows of
// weights in blocks as unsigned codes, four of a row beside four of the next, so that one instruction adds four
// products for each of 16 outputs. A unit is a group of codes with one scale in both operands: 32 codes, for q6_k 16.
#if defined(KVLAB_Q8_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_Q8_PANEL_INL_H
#undef KVLAB_Q8_PANEL_INL_H
#else
#define KVLAB_Q8_PANEL_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/linear/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

constexpr int64_t kOutputs = 16;  ///< outputs of a panel
constexpr int64_t kXBlock = 32;   ///< values of x with one scale

/// The halves at `place` of 16 blocks.
HWY_INLINE void readHalves(const uint8_t* const* blocks, int64_t place, float* to) {
  alignas(64) uint16_t raw[kOutputs];
  for (int64_t o = 0; o < kOutputs; ++o) memcpy(raw + o, blocks[o] + place, 2);
  readRow<DType::f16>(reinterpret_cast<const uint8_t*>(raw), to, kOutputs);
}

/// Words from `place` on of 16 blocks.
template <int kWords>
HWY_INLINE void readWords(const uint8_t* const* blocks, int64_t place, uint32_t (&to)[kWords][kOutputs]) {
  for (int64_t o = 0; o < kOutputs; ++o)
    for (int w = 0; w < kWords; ++w) memcpy(&to[w][o], blocks[o] + place + 4 * w, 4);
}

/// The scales and least values of the units of 16 blocks, [units, 16] each.
template <DType T>
HWY_INLINE void readScales(const uint8_t* const* blocks, float* scales, float* least) {
  using namespace block;
  if constexpr (T == DType::mxfp4) {
    for (int64_t o = 0; o < kOutputs; ++o) scales[o] = halfPower(blocks[o][0]);
  } else if constexpr (T == DType::q6_k) {
    alignas(64) float d[kOutputs];
    alignas(64) uint32_t factors[4][kOutputs];
    readHalves(blocks, 208, d);
    readWords(blocks, 192, factors);
    for (int64_t s = 0; s < 16; ++s)
      for (int64_t o = 0; o < kOutputs; ++o)
        scales[s * kOutputs + o] =
            d[o] * static_cast<float>(static_cast<int32_t>(factors[s / 4][o] << (24 - s % 4 * 8)) >> 24);
  } else if constexpr (T == DType::q4_k || T == DType::q5_k) {
    alignas(64) float d[kOutputs], m[kOutputs];
    alignas(64) uint32_t in[3][kOutputs], factors[2][kOutputs], offsets[2][kOutputs];
    readHalves(blocks, 0, d);
    readHalves(blocks, 2, m);
    readWords(blocks, 4, in);
    for (int64_t o = 0; o < kOutputs; ++o) {  // scaleOf() and minimumOf(), four at a time
      factors[0][o] = in[0][o] & 0x3f3f3f3fu;
      factors[1][o] = (in[2][o] & 0x0f0f0f0fu) | (in[0][o] >> 6 & 0x03030303u) << 4;
      offsets[0][o] = in[1][o] & 0x3f3f3f3fu;
      offsets[1][o] = (in[2][o] >> 4 & 0x0f0f0f0fu) | (in[1][o] >> 6 & 0x03030303u) << 4;
    }
    for (int64_t s = 0; s < 8; ++s)
      for (int64_t o = 0; o < kOutputs; ++o) {
        scales[s * kOutputs + o] =
            d[o] * static_cast<float>(static_cast<int32_t>(factors[s / 4][o] >> (s % 4 * 8) & 255));
        least[s * kOutputs + o] =
            -(m[o] * static_cast<float>(static_cast<int32_t>(offsets[s / 4][o] >> (s % 4 * 8) & 255)));
      }
  } else {
    readHalves(blocks, 0, scales);
    if constexpr (BlockUnits<T>::kLeast) readHalves(blocks, 2, least);
  }
}

/// A panel lies in memory as codes [k / 4, 16, 4], scales [units, 16], least values [units, 16].
struct Q8Panel {
  uint8_t* codes;
  float *scales, *least;

  static int64_t bytes(int64_t k, int64_t units) { return kOutputs * (k + 8 * units); }
  Q8Panel(void* memory, int64_t k, int64_t units)
      : codes(static_cast<uint8_t*>(memory)),
        scales(reinterpret_cast<float*>(codes + kOutputs * k)),
        least(scales + kOutputs * units) {}
};

/// Thirty-two codes of each of 16 rows, `stride` bytes apart, to eight groups of 16 x 4.
HWY_INLINE void interleave(const uint8_t* rows, int64_t stride, uint8_t* to) {
#if HWY_TARGET == HWY_AVX3
  // Registers hold rows o and o + 8; their halves are transposed as 8 x 8 words of 32 bits.
  __m512i a[8], b[8];
  KVLAB_UNROLL for (int o = 0; o < 8; ++o) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + o * stride));
    a[o] = _mm512_inserti64x4(_mm512_castsi256_si512(low),
                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + (o + 8) * stride)), 1);
  }
  KVLAB_UNROLL for (int o = 0; o < 8; o += 2) {
    b[o] = _mm512_unpacklo_epi32(a[o], a[o + 1]);
    b[o + 1] = _mm512_unpackhi_epi32(a[o], a[o + 1]);
  }
  KVLAB_UNROLL for (int o = 0; o < 8; o += 4) {
    a[o] = _mm512_unpacklo_epi64(b[o], b[o + 2]);
    a[o + 1] = _mm512_unpackhi_epi64(b[o], b[o + 2]);
    a[o + 2] = _mm512_unpacklo_epi64(b[o + 1], b[o + 3]);
    a[o + 3] = _mm512_unpackhi_epi64(b[o + 1], b[o + 3]);
  }
  const __m512i lows = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13),
                highs = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  KVLAB_UNROLL for (int g = 0; g < 4; ++g) {
    _mm512_storeu_si512(to + g * 64, _mm512_permutex2var_epi64(a[g], lows, a[g + 4]));
    _mm512_storeu_si512(to + (g + 4) * 64, _mm512_permutex2var_epi64(a[g], highs, a[g + 4]));
  }
#else
  for (int64_t g = 0; g < 8; ++g)
    for (int64_t o = 0; o < kOutputs; ++o) memcpy(to + (g * kOutputs + o) * 4, rows + o * stride + 4 * g, 4);
#endif
}

/// Fills a panel from n <= 16 rows of weights of k values each. The entries of the other rows are never read.
template <DType T>
void fillPanel(const uint8_t* w, int64_t n, int64_t k, const Q8Panel& to) {
  constexpr DTypeBlock kBlock = dtypeBlock(T);
  constexpr int64_t kUnits = kBlock.values / BlockUnits<T>::kUnit;
  const int64_t rowBytes = dtypeRowBytes(T, k);
  const uint8_t* blocks[kOutputs];
  for (int64_t o = 0; o < kOutputs; ++o) blocks[o] = w + std::min(o, n - 1) * rowBytes;
  alignas(64) uint8_t codes[kOutputs][kBlock.values];
  for (int64_t b = 0; b < k / kBlock.values; ++b) {
    for (int64_t o = 0; o < kOutputs; ++o) readCodes<T>(blocks[o], codes[o]);
    for (int64_t i = 0; i < kBlock.values; i += 32)
      interleave(codes[0] + i, kBlock.values, to.codes + (b * kBlock.values + i) * kOutputs);
    readScales<T>(blocks, to.scales + b * kUnits * kOutputs, to.least + b * kUnits * kOutputs);
    for (const uint8_t*& block : blocks) block += kBlock.bytes;
  }
}

/// Rows of x: codes [m, k], scales [m, k / 32], sums of the codes of each unit [m, units] as int32, and sums times
/// scale.
struct Q8Rows {
  int8_t* codes;
  float* scales;
  int32_t* sums;
  float* scaledSums;
  int64_t k, units;

  static int64_t bytes(int64_t m, int64_t k, int64_t units) { return m * (k + k / kXBlock * 4 + 8 * units); }
  Q8Rows(void* memory, int64_t m, int64_t depth, int64_t unitsOfRow)
      : codes(static_cast<int8_t*>(memory)),
        scales(reinterpret_cast<float*>(codes + m * depth)),
        sums(reinterpret_cast<int32_t*>(scales + m * (depth / kXBlock))),
        scaledSums(reinterpret_cast<float*>(sums + m * unitsOfRow)),
        k(depth),
        units(unitsOfRow) {}

  /// Rounds row i of x.
  void fill(const float* x, int64_t i) const {
    for (int64_t b = 0; b < k / kXBlock; ++b) fillBlock(x + b * kXBlock, i, b);
  }

 private:
  using DI = hn::RebindToSigned<DF>;
  using VI = hn::Vec<DI>;
  static constexpr int64_t kParts = kXBlock / kLanes;

  HWY_INLINE void fillBlock(const float* x, int64_t i, int64_t b) const {
    const DF d;
    VF most = hn::Zero(d);
    KVLAB_UNROLL for (int64_t p = 0; p < kParts; ++p) {
      const VF size = hn::Abs(hn::LoadU(d, x + p * kLanes));
      most = hn::IfThenElse(hn::Gt(size, most), size, most);  // NaN is ignored
    }
    const float largest = hn::GetLane(hn::MaxOfLanes(d, most)), scale = largest / 127.0f;
    const VF inverse = hn::Set(d, largest > 0 ? 127.0f / largest : 0.0f);
    scales[i * (k / kXBlock) + b] = scale;
    int8_t* to = codes + i * k + b * kXBlock;
    VI rounded[kParts];
    KVLAB_UNROLL for (int64_t p = 0; p < kParts; ++p) {
      rounded[p] = nearest(hn::Mul(hn::LoadU(d, x + p * kLanes), inverse));
      storeCodes(rounded[p], to + p * kLanes);
    }
    const int64_t perBlock = kXBlock * units / k, parts = kParts / perBlock;
    for (int64_t u = 0; u < perBlock; ++u) {
      VI sum = hn::Zero(DI());
      for (int64_t p = u * parts; p < (u + 1) * parts; ++p) sum = hn::Add(sum, rounded[p]);
      const int32_t all = hn::GetLane(hn::SumOfLanes(DI(), sum));
      const int64_t at = i * units + b * perBlock + u;
      sums[at] = all;
      scaledSums[at] = scale * static_cast<float>(all);
    }
  }

  /// To nearest, ties to even, of |x| <= 127.5, as eight bits with their sign: adding 1.5 * 2^23 leaves the integer in
  /// the last bits.
  static HWY_INLINE VI nearest(VF x) {
    const VF moved = hn::Add(x, hn::Set(DF(), 12582912.0f));
    return hn::ShiftRight<24>(hn::ShiftLeft<24>(hn::BitCast(DI(), moved)));
  }

  static HWY_INLINE void storeCodes(VI codesOfPart, int8_t* to) {
    const hn::Rebind<int8_t, DF> narrow;
    hn::StoreU(hn::DemoteTo(narrow, codesOfPart), narrow, to);
  }
};

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_Q8_PANEL_INL_H
