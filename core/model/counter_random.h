// SPDX-License-Identifier: Apache-2.0
// A counter-based generator: the n-th 64 bits of stream `key` without computing earlier bits.
// splitmix64 (Steele, Lea, Flood 2014); the stream starts at the mixed key.
#pragma once
#include <cstdint>

namespace kvlab {

constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

constexpr std::uint64_t randomBits(std::uint64_t key, std::uint64_t counter) {
  return mix64(mix64(key + 0x9e3779b97f4a7c15u) + (counter + 1) * 0x9e3779b97f4a7c15u);
}

/// In [0, 1), 53 bits.
constexpr double unitInterval(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace kvlab
