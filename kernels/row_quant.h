// SPDX-License-Identifier: Apache-2.0
// Quantised rows: one head of one row becomes 8-bit codes and a scale, and a reader makes values of both.
//
//   scale = max(amax / qmax, 1e-8), amax the largest magnitude of the head, qmax 127 (int8) or 448 (fp8-e4m3)
//   code  = x / scale, rounded to nearest even: an integer in -127..127, or an E4M3 number
//   value = f32(code) * scale, one rounding
//
// Division is IEEE's. Every reader computes `value` first, so an f32 row of these values gives the same bits. A head
// with an input that is NaN or infinite gets the scale NaN and codes 0, and therefore reads as NaN. Host and device
// share these functions.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/platform.h"
#include "kernels/scalar_convert.h"

namespace kvlab::kernels {

inline constexpr float kScaleFloor = 1e-8f;
inline constexpr uint32_t kScaleNanBits = 0x7fc00000u;

/// Largest magnitude of a code. 1 for types without a scale.
KVLAB_HD constexpr float quantMax(DType t) { return t == DType::i8 ? 127.0f : t == DType::fp8e4m3 ? 448.0f : 1.0f; }

KVLAB_HD inline uint32_t magnitudeBits(float x) { return std::bit_cast<uint32_t>(x) & 0x7fffffffu; }
KVLAB_HD constexpr bool finiteBits(uint32_t magnitude) { return magnitude < 0x7f800000u; }

/// amaxBits: the largest magnitudeBits() of the head; magnitudes order as integers, NaN above all.
KVLAB_HD inline float scaleOf(uint32_t amaxBits, DType t) {
  if (!finiteBits(amaxBits)) return std::bit_cast<float>(kScaleNanBits);
  const float scale = std::bit_cast<float>(amaxBits) / quantMax(t);
  return scale > kScaleFloor ? scale : kScaleFloor;
}

/// Code of a quotient x / scale as a byte; 0 where the scale is NaN.
KVLAB_HD inline uint8_t quantCode(float quotient, DType t) {
  if (quotient != quotient) return 0;
  if (t == DType::fp8e4m3) return floatToFp8(quotient);
  const float capped = quotient > 127.0f ? 127.0f : quotient < -127.0f ? -127.0f : quotient;
  return static_cast<uint8_t>(
      std::bit_cast<uint32_t>(capped + 12582912.0f));  // 1.5 * 2^23: the last bits are the integer
}

/// A quotient of greater magnitude rounds above quantMax(). With the scale of its own head no quotient does.
KVLAB_HD constexpr uint32_t clipBits(DType t) {
  return t == DType::i8 ? 0x42feffffu : 0x43e80000u;
}  // below 127.5; 464, a tie

KVLAB_HD inline bool quantAtMax(uint8_t code, DType t) {
  return t == DType::i8 ? code == 127 || code == 129 : (code & 0x7fu) == 0x7eu;
}

KVLAB_HD inline float codeValue(uint8_t code, DType t) {
  return t == DType::i8 ? static_cast<float>(static_cast<int8_t>(code)) : fp8ToFloat(code);
}

/// A finite scale as a fixed-point number: two neighbouring words of TensorStats::scaleSum. The smallest bit of a
/// float from 1e-8 on is 2^-50, that of word 0.
struct ScaleWords {
  int first;
  uint32_t low, high;
};
KVLAB_HD inline ScaleWords scaleWords(float scale) {
  const uint32_t bits = std::bit_cast<uint32_t>(scale);
  const int position = static_cast<int>(bits >> 23) - 100;  // place of the last mantissa bit; 1e-8 has exponent 100
  const uint64_t wide = static_cast<uint64_t>((bits & 0x7fffffu) | 0x800000u) << (position & 31);
  return {position / 32, static_cast<uint32_t>(wide), static_cast<uint32_t>(wide >> 32)};
}

/// Magnitudes from here on become infinite in a type without a scale.
KVLAB_HD constexpr uint32_t overflowBits(DType t) {
  return t == DType::f16 ? 0x477ff000u : t == DType::bf16 ? 0x7f7f8000u : 0x7f800000u;
}

}  // namespace kvlab::kernels
