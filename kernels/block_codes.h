// SPDX-License-Identifier: Apache-2.0
// Decodes the blocks of weights in GGUF files (dtype.h lists their types), codes with scales of their own, to f32.
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

/// The constants of a type: a value is scale * (code - zero) + least, one rounding per operation. Codes are 0 to 255.
struct BlockForm {
  int64_t unit;  ///< neighbouring values that share scale and least
  int zero;
  bool least;  ///< false: nothing is added
};

KVLAB_HD constexpr BlockForm blockForm(DType t) {
  switch (t) {
    case DType::q8_0: return {32, 128, false};
    case DType::q4_0: return {32, 8, false};
    case DType::q5_0: return {32, 16, false};
    case DType::q6_k: return {16, 32, false};
    case DType::mxfp4: return {32, 12, false};
    default: return {32, 0, true};
  }
}

struct BlockScale {
  float scale, least;
};

/// Scale and least value of a unit of a block.
template <DType T>
KVLAB_HD inline BlockScale blockScale(const uint8_t* from, int unit) {
  using namespace block;
  if constexpr (T == DType::mxfp4) return {halfPower(from[0]), 0.0f};
  else if constexpr (T == DType::q6_k)
    return {half(from + 208) * static_cast<float>(static_cast<int8_t>(from[192 + unit])), 0.0f};
  else if constexpr (T == DType::q4_k || T == DType::q5_k)
    return {half(from) * static_cast<float>(scaleOf(from + 4, unit)),
            -(half(from + 2) * static_cast<float>(minimumOf(from + 4, unit)))};
  else return {half(from), blockForm(T).least ? half(from + 2) : 0.0f};
}

/// Code of value i of a block.
template <DType T>
KVLAB_HD inline int blockCode(const uint8_t* from, int i) {
  using namespace block;
  if constexpr (T == DType::q8_0) {
    return from[2 + i] ^ 128;
  } else if constexpr (T == DType::q4_k || T == DType::q5_k) {
    const uint8_t* low = from + (T == DType::q5_k ? 48 : 16);
    const int four = low[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
    return T == DType::q5_k ? four | (from[16 + i % 32] >> (i / 32) & 1) << 4 : four;
  } else if constexpr (T == DType::q6_k) {  // half i / 128 of the block, quarter of the half
    const int quarter = i % 128 / 32;
    const int four = from[i / 128 * 64 + quarter % 2 * 32 + i % 32] >> (quarter / 2 * 4) & 15;
    return four | (from[128 + i / 128 * 32 + i % 32] >> (quarter * 2) & 3) << 4;
  } else if constexpr (T == DType::q5_0 || T == DType::q5_1) {
    const uint8_t* bits = from + (T == DType::q5_1 ? 4 : 2);
    return (bits[4 + i % 16] >> (i / 16 * 4) & 15) | fifthBit(bits, i);
  } else {
    const int four = from[(T == DType::mxfp4 ? 1 : T == DType::q4_0 ? 2 : 4) + i % 16] >> (i / 16 * 4) & 15;
    return T == DType::mxfp4 ? doubled(four) + 12 : four;
  }
}

template <DType T>
KVLAB_HD inline float blockValue(int code, const BlockScale& s) {
  const float product = s.scale * static_cast<float>(code - blockForm(T).zero);
  return blockForm(T).least ? product + s.least : product;
}

/// Value i of a row.
template <DType T>
KVLAB_HD inline float blockValue(const uint8_t* row, int64_t i) {
  constexpr DTypeBlock kBlock = dtypeBlock(T);
  const uint8_t* from = row + i / kBlock.values * kBlock.bytes;
  const int at = static_cast<int>(i % kBlock.values), unit = at / static_cast<int>(blockForm(T).unit);
  return blockValue<T>(blockCode<T>(from, at), blockScale<T>(from, unit));
}

/// The values of a row or of a part of it, a multiple of a block.
template <DType T>
KVLAB_HD inline void readBlocks(const uint8_t* from, float* to, int64_t count) {
  constexpr DTypeBlock kBlock = dtypeBlock(T);
  constexpr int kValues = static_cast<int>(kBlock.values), kUnit = static_cast<int>(blockForm(T).unit);
  for (int64_t i = 0; i < count; i += kValues, from += kBlock.bytes) {
    for (int first = 0; first < kValues; first += kUnit) {
      const BlockScale s = blockScale<T>(from, first / kUnit);
      for (int v = first; v < first + kUnit; ++v) to[i + v] = blockValue<T>(blockCode<T>(from, v), s);
    }
  }
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
