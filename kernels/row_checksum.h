// SPDX-License-Identifier: Apache-2.0
// Checksum of a row record: sum modulo 2^64, seeded by the tag, of one mixed term per 32-bit word
// before the tag (values, scales and padding). Each term is a bijection of its word, and the seed is a
// bijection of the tag, so any change inside a single word or inside the tag changes the sum. The sum
// has no order: threads of a device may add their terms in any order.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/platform.h"

namespace kvlab::kernels {

inline constexpr uint64_t kChecksumIndexStep = 0x9e3779b97f4a7c15ull;  // odd
inline constexpr uint64_t kChecksumMultiplier = 0xd6e8feb86659fd93ull;

/// Bijection of 64-bit words: xor-shift, multiply, xor-shift.
KVLAB_HD constexpr uint64_t mix64(uint64_t z) {
  z ^= z >> 32;
  z *= kChecksumMultiplier;
  return z ^ (z >> 29);
}

/// Term of the word at `index` (counted in 32-bit words from the start of the record).
KVLAB_HD constexpr uint64_t checksumTerm(uint32_t word, uint64_t index) {
  return mix64(word ^ ((index + 1) * kChecksumIndexStep));
}

KVLAB_HD constexpr uint64_t checksumSeed(uint64_t tag) { return mix64(tag ^ kChecksumMultiplier); }

/// Terms of words [beginByte/4, endByte/4) of a record; add them to checksumSeed(tag).
KVLAB_HD inline uint64_t checksumTerms(const uint8_t* record, int64_t beginByte, int64_t endByte) {
  uint64_t sum = 0;
  uint64_t key = static_cast<uint64_t>(beginByte / 4) * kChecksumIndexStep;
  for (int64_t at = beginByte; at < endByte; at += 4) {
    uint32_t word;
    memcpy(&word, record + at, 4);
    key += kChecksumIndexStep;
    sum += mix64(word ^ key);
  }
  return sum;
}

/// tagOffset as in RowLayout::tag.
KVLAB_HD inline uint64_t rowChecksum(const uint8_t* record, int64_t tagOffset) {
  uint64_t tag;
  memcpy(&tag, record + tagOffset, 8);
  return checksumSeed(tag) + checksumTerms(record, 0, tagOffset);
}

}  // namespace kvlab::kernels
