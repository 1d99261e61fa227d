// SPDX-License-Identifier: Apache-2.0
// Operands of products of integers (numerics.h, "portable-q8"): rows of x as int8 codes, and a panel of 16 rows of
// weights in blocks as unsigned codes, four of a row beside four of the next, so that one instruction adds four
// products for each of 16 outputs. A unit is what has one scale in both operands: 32 codes, of q6_k 16.
#if defined(KVLAB_Q8_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_Q8_PANEL_INL_H
#undef KVLAB_Q8_PANEL_INL_H
#else
#define KVLAB_Q8_PANEL_INL_H
#endif

#include <algorithm>
#include <cmath>

#include "kernels/block_codes.h"
#include "kernels/cpu/runtime/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

constexpr int64_t kOutputs = 16;  ///< of a panel
constexpr int64_t kXBlock = 32;   ///< values of x with one scale

/// Codes of a unit, and what is subtracted from an unsigned code. kLeast: values have a least value beside the scale.
template <DType T>
struct Q8Type {
  static constexpr int64_t kUnit = T == DType::q6_k ? 16 : 32;
  static constexpr int kOffset = T == DType::q8_0 ? 128
      : T == DType::q4_0                          ? 8
      : T == DType::q5_0                          ? 16
      : T == DType::q6_k                          ? 32
      : T == DType::mxfp4                         ? 12
                                                  : 0;
  static constexpr bool kLeast = T == DType::q4_1 || T == DType::q5_1 || T == DType::q4_k || T == DType::q5_k;
};

/// One block as unsigned codes, with the scale and the least value (0 without one) of each unit.
template <DType T>
HWY_INLINE void readCodes(const uint8_t* from, uint8_t* codes, float* scale, float* least) {
  using namespace block;
  constexpr int64_t kUnits = dtypeBlock(T).values / Q8Type<T>::kUnit;
  for (int64_t u = 0; u < kUnits; ++u) least[u] = 0;
  if constexpr (T == DType::q8_0) {
    scale[0] = half(from);
    for (int i = 0; i < 32; ++i) codes[i] = from[2 + i] ^ 0x80;
  } else if constexpr (T == DType::q4_0 || T == DType::q4_1) {
    scale[0] = half(from);
    if (T == DType::q4_1) least[0] = half(from + 2);
    const uint8_t* low = from + (T == DType::q4_1 ? 4 : 2);
    for (int i = 0; i < 16; ++i) codes[i] = low[i] & 15;
    for (int i = 0; i < 16; ++i) codes[i + 16] = static_cast<uint8_t>(low[i] >> 4);
  } else if constexpr (T == DType::q5_0 || T == DType::q5_1) {
    scale[0] = half(from);
    if (T == DType::q5_1) least[0] = half(from + 2);
    const uint8_t *bits = from + (T == DType::q5_1 ? 4 : 2), *low = bits + 4;
    for (int i = 0; i < 16; ++i) codes[i] = static_cast<uint8_t>((low[i] & 15) | fifthBit(bits, i));
    for (int i = 0; i < 16; ++i) codes[i + 16] = static_cast<uint8_t>(low[i] >> 4 | fifthBit(bits, i + 16));
  } else if constexpr (T == DType::q4_k || T == DType::q5_k) {
    constexpr bool five = T == DType::q5_k;
    const float d = half(from), m = half(from + 2);
    const uint8_t *high = from + 16, *low = from + (five ? 48 : 16);
    for (int s = 0; s < 8; ++s) {
      scale[s] = d * static_cast<float>(scaleOf(from + 4, s));
      least[s] = -(m * static_cast<float>(minimumOf(from + 4, s)));
      for (int i = 0; i < 32; ++i) {
        int code = low[s / 2 * 32 + i] >> (s % 2 * 4) & 15;
        if constexpr (five) code |= (high[i] >> s & 1) << 4;
        codes[s * 32 + i] = static_cast<uint8_t>(code);
      }
    }
  } else if constexpr (T == DType::q6_k) {
    const float d = half(from + 208);
    for (int s = 0; s < 16; ++s) scale[s] = d * static_cast<float>(static_cast<int8_t>(from[192 + s]));
    for (int s = 0; s < 8; ++s) {
      const uint8_t *low = from + s / 4 * 64 + s % 2 * 32, *high = from + 128 + s / 4 * 32;
      for (int i = 0; i < 32; ++i)
        codes[s * 32 + i] = static_cast<uint8_t>((low[i] >> (s % 4 / 2 * 4) & 15) | (high[i] >> (s % 4 * 2) & 3) << 4);
    }
  } else {
    static_assert(T == DType::mxfp4);
    scale[0] = halfPower(from[0]);
    for (int i = 0; i < 16; ++i) codes[i] = static_cast<uint8_t>(doubled(from[1 + i] & 15) + 12);
    for (int i = 0; i < 16; ++i) codes[i + 16] = static_cast<uint8_t>(doubled(from[1 + i] >> 4) + 12);
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

/// n <= 16 rows of weights of k values each; the others become 0.
template <DType T>
void fillPanel(const uint8_t* w, int64_t n, int64_t k, const Q8Panel& to) {
  constexpr DTypeBlock kBlock = dtypeBlock(T);
  constexpr int64_t kUnits = kBlock.values / Q8Type<T>::kUnit;
  const int64_t rowBytes = dtypeRowBytes(T, k), blocks = k / kBlock.values;
  for (int64_t b = 0; b < blocks; ++b) {
    uint8_t* codes = to.codes + b * kBlock.values * kOutputs;
    float *scales = to.scales + b * kUnits * kOutputs, *least = to.least + b * kUnits * kOutputs;
    for (int64_t o = 0; o < kOutputs; ++o) {
      alignas(64) uint8_t own[kBlock.values] = {};
      float scale[kUnits] = {}, low[kUnits] = {};
      if (o < n) readCodes<T>(w + o * rowBytes + b * kBlock.bytes, own, scale, low);
      for (int64_t g = 0; g < kBlock.values / 4; ++g) memcpy(codes + (g * kOutputs + o) * 4, own + 4 * g, 4);
      for (int64_t u = 0; u < kUnits; ++u) {
        scales[u * kOutputs + o] = scale[u];
        least[u * kOutputs + o] = low[u];
      }
    }
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
    int8_t* to = codes + i * k;
    const int64_t unit = k / units;
    for (int64_t b = 0; b < k / kXBlock; ++b) {
      const float* from = x + b * kXBlock;
      float most = 0;
      for (int64_t j = 0; j < kXBlock; ++j) most = std::max(most, std::fabs(from[j]));
      const float scale = most / 127.0f, inverse = most > 0 ? 127.0f / most : 0.0f;
      scales[i * (k / kXBlock) + b] = scale;
      for (int64_t j = 0; j < kXBlock; ++j) to[b * kXBlock + j] = static_cast<int8_t>(nearest(from[j] * inverse));
    }
    for (int64_t u = 0; u < units; ++u) {
      int32_t sum = 0;
      for (int64_t j = 0; j < unit; ++j) sum += to[u * unit + j];
      sums[i * units + u] = sum;
      scaledSums[i * units + u] = scales[i * (k / kXBlock) + u * unit / kXBlock] * static_cast<float>(sum);
    }
  }

 private:
  /// To nearest, ties to even, of |x| <= 127.5: adding 1.5 * 2^23 leaves the integer in the last bits.
  static int32_t nearest(float x) {
    return std::bit_cast<int32_t>(x + 12582912.0f) - std::bit_cast<int32_t>(12582912.0f);
  }
};

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_Q8_PANEL_INL_H
