// SPDX-License-Identifier: Apache-2.0
// What one of `parts` threads does for one row record (row_format.h): device kernels run these side by
// side, tests on the host one after another. Every part takes the 32-bit words part, part + parts, ...
#pragma once

#include "kernels/ops/row_ops.h"
#include "kernels/row_checksum.h"
#include "kernels/scalar_convert.h"

namespace kvlab::kernels {

KVLAB_HD inline uint16_t toHalfWord(float x, DType t) { return t == DType::f16 ? floatToHalf(x) : floatToBf16(x); }
KVLAB_HD inline float fromHalfWord(uint16_t x, DType t) { return t == DType::f16 ? halfToFloat(x) : bf16ToFloat(x); }

/// Word `word` of `count` f32 values stored as type t; zero behind them.
KVLAB_HD inline uint32_t storedWord(const float* values, int64_t count, DType t, int64_t word) {
  if (t == DType::f32) return word < count ? std::bit_cast<uint32_t>(values[word]) : 0;
  const int64_t low = 2 * word, high = low + 1;
  const uint32_t first = low < count ? toHalfWord(values[low], t) : 0;
  const uint32_t second = high < count ? toHalfWord(values[high], t) : 0;
  return first | (second << 16);
}

/// Word `word` of the record of row i, before the tag.
KVLAB_HD inline uint32_t recordWord(const WriteRowsArgs& a, const RowLayout& o, int64_t i, int64_t word) {
  const int64_t values = int64_t{a.fmt.kvHeads} * a.fmt.headDim, at = 4 * word;
  if (at < o.v) return storedWord(a.k + i * a.kStride, values, a.fmt.k, word - o.k / 4);
  return storedWord(a.v + i * a.vStride, values, a.fmt.v, word - o.v / 4);
}

/// Writes this part's words and returns their share of the checksum; the seed, the tag and the sum of
/// all shares are left to one thread (finishRecord).
KVLAB_HD inline uint64_t writeRecordPart(const WriteRowsArgs& a, const RowLayout& o, int64_t i, int64_t part, int64_t parts) {
  uint8_t* record = a.pool + a.slots[i] * o.stride;
  uint64_t sum = 0;
  for (int64_t word = part; word < o.tag / 4; word += parts) {
    const uint32_t bits = recordWord(a, o, i, word);
    memcpy(record + 4 * word, &bits, 4);
    sum += checksumTerm(bits, static_cast<uint64_t>(word));
  }
  return sum;
}

KVLAB_HD inline void finishRecord(const WriteRowsArgs& a, const RowLayout& o, int64_t i, uint64_t shares) {
  uint8_t* record = a.pool + a.slots[i] * o.stride;
  const uint64_t sum = checksumSeed(a.tags[i]) + shares;
  memcpy(record + o.tag, a.tags + i, 8);
  memcpy(record + o.checksum, &sum, 8);
}

/// What a write of these values sees (WriteRowsStats), this part's of them.
KVLAB_HD inline void countPart(const float* x, int64_t count, DType t, int64_t part, int64_t parts, uint64_t& nonFinite, uint64_t& clipped) {
  const auto finite = [](float v) { return (std::bit_cast<uint32_t>(v) & 0x7f800000u) != 0x7f800000u; };
  for (int64_t i = part; i < count; i += parts) {
    if (!finite(x[i])) {
      ++nonFinite;
    } else if (t != DType::f32 && !finite(fromHalfWord(toHalfWord(x[i], t), t))) {
      ++clipped;
    }
  }
}

/// This part's share of the checksum of a stored record.
KVLAB_HD inline uint64_t checksumPart(const uint8_t* record, const RowLayout& o, int64_t part, int64_t parts) {
  uint64_t sum = 0;
  for (int64_t word = part; word < o.tag / 4; word += parts) {
    uint32_t bits;
    memcpy(&bits, record + 4 * word, 4);
    sum += checksumTerm(bits, static_cast<uint64_t>(word));
  }
  return sum;
}

KVLAB_HD inline uint8_t verdictOf(const uint8_t* record, const RowLayout& o, uint64_t shares, const uint64_t* wanted) {
  uint64_t tag, checksum;
  memcpy(&tag, record + o.tag, 8);
  memcpy(&checksum, record + o.checksum, 8);
  const bool badSum = checksumSeed(tag) + shares != checksum, badTag = wanted && *wanted != tag;
  return static_cast<uint8_t>((badSum ? kRowBadChecksum : 0) | (badTag ? kRowBadTag : 0));
}

/// `count` values stored as type t -> f32, this part's of them.
KVLAB_HD inline void gatherPart(const uint8_t* from, DType t, int64_t count, float* to, int64_t part, int64_t parts) {
  for (int64_t i = part; i < count; i += parts) {
    if (t == DType::f32) {
      memcpy(to + i, from + 4 * i, 4);
    } else {
      uint16_t bits;
      memcpy(&bits, from + 2 * i, 2);
      to[i] = fromHalfWord(bits, t);
    }
  }
}

}  // namespace kvlab::kernels
