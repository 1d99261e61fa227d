// SPDX-License-Identifier: Apache-2.0
// Weights in blocks for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/dtype.h"

namespace kvlab::kernels::test {

inline constexpr DType kBlockTypes[] = {DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                                        DType::q4_k, DType::q5_k, DType::q6_k, DType::mxfp4};

/// Rows of random bytes whose scales are small finite numbers.
inline std::vector<uint8_t> blocksOf(DType type, int64_t values, uint32_t seed) {
  const DTypeBlock block = dtypeBlock(type);
  std::vector<uint8_t> out(static_cast<size_t>(values / block.values * block.bytes));
  for (uint8_t& byte : out) byte = static_cast<uint8_t>((seed = seed * 1664525u + 1013904223u) >> 24);
  for (size_t at = 0; at < out.size(); at += static_cast<size_t>(block.bytes)) {
    const auto half = [&](size_t place) {
      out[at + place + 1] = static_cast<uint8_t>(0x1c | (out[at + place + 1] & 0x83));
    };
    if (type == DType::mxfp4) out[at] = static_cast<uint8_t>(110 + out[at] % 12);
    else if (type == DType::q6_k) half(208);
    else half(0);
    if (type == DType::q4_1 || type == DType::q5_1 || type == DType::q4_k || type == DType::q5_k) half(2);
  }
  return out;
}

}  // namespace kvlab::kernels::test
