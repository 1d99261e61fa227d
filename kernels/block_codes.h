// SPDX-License-Identifier: Apache-2.0
// What the blocks of weights in GGUF files mean (dtype.h lists their types): codes with scales of their own, as f32.
// Every value is made by the same operations in the same order as in the NumPy dequantisers of the Python package gguf,
// so the bits are equal. For the host and for devices.
//
// Source of the layouts: ggml-common.h and gguf-py/gguf/quants.py of llama.cpp; MXFP4: OCP Microscaling Formats 1.0.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/dtype.h"
#include "kernels/scalar_convert.h"

namespace kvlab::kernels {

namespace block {

KVLAB_HD inline float half(const uint8_t* at) { return halfToFloat(static_cast<uint16_t>(at[0] | at[1] << 8)); }

/// Six-bit scale and minimum of the eight sub-blocks of q4_k and q5_k, in 12 bytes.
KVLAB_HD inline uint8_t scaleOf(const uint8_t* s, int i) {
  return static_cast<uint8_t>(i < 4 ? s[i] & 63 : (s[i + 4] & 15) | (s[i - 4] >> 6) << 4);
}
KVLAB_HD inline uint8_t minimumOf(const uint8_t* s, int i) {
  return static_cast<uint8_t>(i < 4 ? s[i + 4] & 63 : s[i + 4] >> 4 | (s[i] >> 6) << 4);
}

/// Half of 2^(e - 127), the scale of codes that are twice the values of mxfp4.
KVLAB_HD inline float halfPower(uint8_t e) {
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
}

/// Twice the value of a code of mxfp4.
KVLAB_HD inline int doubled(int code) {
  const int magnitude = code & 7;
  const int value = magnitude < 5 ? magnitude : magnitude == 5 ? 6 : magnitude == 6 ? 8 : 12;
  return code & 8 ? -value : value;
}

/// The fifth bit of value i of q5_0 and q5_1, in its place.
KVLAB_HD inline int fifthBit(const uint8_t* bits, int i) { return (bits[i / 8] >> (i % 8) & 1) << 4; }

}  // namespace block

/// The values of one block, dtypeBlock(T).values of them.
template <DType T>
KVLAB_HD inline void readBlock(const uint8_t* from, float* to) {
  using namespace block;
  if constexpr (T == DType::q8_0) {
    const float d = half(from);
    const auto* codes = reinterpret_cast<const int8_t*>(from + 2);
    for (int i = 0; i < 32; ++i) to[i] = d * static_cast<float>(codes[i]);
  } else if constexpr (T == DType::q4_0) {
    const float d = half(from);
    for (int i = 0; i < 16; ++i) {
      to[i] = d * static_cast<float>((from[2 + i] & 15) - 8);
      to[i + 16] = d * static_cast<float>((from[2 + i] >> 4) - 8);
    }
  } else if constexpr (T == DType::q4_1) {
    const float d = half(from), m = half(from + 2);
    for (int i = 0; i < 16; ++i) {
      to[i] = d * static_cast<float>(from[4 + i] & 15) + m;
      to[i + 16] = d * static_cast<float>(from[4 + i] >> 4) + m;
    }
  } else if constexpr (T == DType::q5_0) {
    const float d = half(from);
    for (int i = 0; i < 16; ++i) {
      to[i] = d * static_cast<float>(((from[6 + i] & 15) | fifthBit(from + 2, i)) - 16);
      to[i + 16] = d * static_cast<float>(((from[6 + i] >> 4) | fifthBit(from + 2, i + 16)) - 16);
    }
  } else if constexpr (T == DType::q5_1) {
    const float d = half(from), m = half(from + 2);
    for (int i = 0; i < 16; ++i) {
      to[i] = d * static_cast<float>((from[8 + i] & 15) | fifthBit(from + 4, i)) + m;
      to[i + 16] = d * static_cast<float>((from[8 + i] >> 4) | fifthBit(from + 4, i + 16)) + m;
    }
  } else if constexpr (T == DType::q4_k || T == DType::q5_k) {
    constexpr bool five = T == DType::q5_k;
    const float d = half(from), m = half(from + 2);
    const uint8_t *scales = from + 4, *high = from + 16, *low = from + (five ? 48 : 16);
    for (int s = 0; s < 8; ++s) {
      const float scale = d * static_cast<float>(scaleOf(scales, s)),
                  least = m * static_cast<float>(minimumOf(scales, s));
      for (int i = 0; i < 32; ++i) {
        int code = low[s / 2 * 32 + i] >> (s % 2 * 4) & 15;
        if constexpr (five) code |= (high[i] >> s & 1) << 4;
        to[s * 32 + i] = scale * static_cast<float>(code) - least;
      }
    }
  } else if constexpr (T == DType::q6_k) {
    const float d = half(from + 208);
    const auto* scales = reinterpret_cast<const int8_t*>(from + 192);
    for (int s = 0; s < 8; ++s) {  // 32 values: half s / 4 of the block, quarter s % 4 of the half
      const uint8_t *low = from + s / 4 * 64 + s % 2 * 32, *high = from + 128 + s / 4 * 32;
      for (int i = 0; i < 32; ++i) {
        const int code = ((low[i] >> (s % 4 / 2 * 4) & 15) | (high[i] >> (s % 4 * 2) & 3) << 4) - 32;
        to[s * 32 + i] = d * static_cast<float>(scales[s * 2 + i / 16]) * static_cast<float>(code);
      }
    }
  } else {
    static_assert(T == DType::mxfp4);
    const float d = halfPower(from[0]);
    for (int i = 0; i < 16; ++i) {
      to[i] = d * static_cast<float>(doubled(from[1 + i] & 15));
      to[i + 16] = d * static_cast<float>(doubled(from[1 + i] >> 4));
    }
  }
}

/// The values of a row or of a part of it, a multiple of a block.
template <DType T>
KVLAB_HD inline void readBlocks(const uint8_t* from, float* to, int64_t count) {
  constexpr DTypeBlock kBlock = dtypeBlock(T);
  for (int64_t i = 0; i < count; i += kBlock.values, from += kBlock.bytes) readBlock<T>(from, to + i);
}

/// Calls fn with the type as a compile-time constant; types that are not cut into blocks do nothing.
template <class Fn>
KVLAB_HD void withBlockType(DType t, const Fn& fn) {
  switch (t) {
    case DType::q8_0: return fn(std::integral_constant<DType, DType::q8_0>());
    case DType::q4_0: return fn(std::integral_constant<DType, DType::q4_0>());
    case DType::q4_1: return fn(std::integral_constant<DType, DType::q4_1>());
    case DType::q5_0: return fn(std::integral_constant<DType, DType::q5_0>());
    case DType::q5_1: return fn(std::integral_constant<DType, DType::q5_1>());
    case DType::q4_k: return fn(std::integral_constant<DType, DType::q4_k>());
    case DType::q5_k: return fn(std::integral_constant<DType, DType::q5_k>());
    case DType::q6_k: return fn(std::integral_constant<DType, DType::q6_k>());
    case DType::mxfp4: return fn(std::integral_constant<DType, DType::mxfp4>());
    default: return;
  }
}

}  // namespace kvlab::kernels
