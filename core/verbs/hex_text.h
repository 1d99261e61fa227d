// SPDX-License-Identifier: Apache-2.0
// Checksums as texts in the reply of a verb. Pure; any thread.
#pragma once
#include <cstdint>
#include <string>

namespace kvlab {

/// 16 hexadecimal digits.
inline std::string hexText(std::uint64_t value) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[(value >> shift) & 15];
  return out;
}

}  // namespace kvlab
