// SPDX-License-Identifier: Apache-2.0
// One-value conversions between f32 and the narrower types, round to nearest even.
// Not-a-number stays one (quiet, upper payload bits kept), as the F16C instructions do it.
// The bulk form is ops/convert.h; both give equal bits.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/platform.h"

namespace kvlab::kernels {

/// IEEE binary16 bits -> f32, subnormals, infinities and NaN included. Exact.
KVLAB_HD inline float halfToFloat(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7fffu;
  if (magnitude > 0x7c00u) return std::bit_cast<float>(sign | 0x7fc00000u | (magnitude << 13));
  if (magnitude == 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u);
  // 2^112 moves the exponent bias from 15 to 127; subnormals come out normalised.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

/// f32 -> IEEE binary16 bits, round to nearest even; above 65519.99 becomes infinity.
KVLAB_HD inline uint16_t floatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t out;
  if (magnitude > 0x7f800000u) {
    out = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520 rounds up to infinity
    out = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: let f32 addition round at 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    out = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
  } else {
    const uint32_t odd = (magnitude >> 13) & 1u;
    out = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
  }
  return static_cast<uint16_t>(sign | out);
}

KVLAB_HD inline float bf16ToFloat(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

/// f32 -> bfloat16 bits, round to nearest even.
KVLAB_HD inline uint16_t floatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// E4M3 without infinities: s eeee mmm, bias 7, subnormals at 2^-9, largest value 448, NaN at 0x7f and 0xff. Exact.
KVLAB_HD inline float fp8ToFloat(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24;
  const uint32_t magnitude = code & 0x7fu;
  if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  // 2^120 moves the exponent bias from 7 to 127; subnormals come out normalised.
  const float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

/// f32 -> E4M3; magnitudes above 448 become 448, infinite ones too.
KVLAB_HD inline uint8_t floatToFp8(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 24) & 0x80u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t out;
  if (magnitude > 0x7f800000u) {
    out = 0x7fu;
  } else if (magnitude >= 0x43e00000u) {  // 448
    out = 0x7eu;
  } else if (magnitude < 0x3c800000u) {  // below 2^-6: let f32 addition round at 2^-9
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    out = std::bit_cast<uint32_t>(shifted) - 0x46800000u;
  } else {
    out = (magnitude - 0x3c000000u + 0x7ffffu + ((magnitude >> 20) & 1u)) >> 20;
  }
  return static_cast<uint8_t>(sign | out);
}

}  // namespace kvlab::kernels
