// SPDX-License-Identifier: Apache-2.0
// The share of one of `parts` threads in one row record (row_format.h). Device kernels run the shares side by side,
// tests on the host one after another. Every part takes the 32-bit words part, part + parts, ...
#pragma once

#include "kernels/ops/row_ops.h"
#include "kernels/row_quant.h"
#include "kernels/row_tag.h"

namespace kvlab::kernels {

KVLAB_HD inline uint16_t toHalfWord(float x, DType t) { return t == DType::f16 ? floatToHalf(x) : floatToBf16(x); }
KVLAB_HD inline float fromHalfWord(uint16_t x, DType t) { return t == DType::f16 ? halfToFloat(x) : bf16ToFloat(x); }

/// K or V of one row on its way into a record.
struct TensorPart {
  const float* values;  ///< [count], heads of headDim
  int64_t count;
  int32_t headDim;
  DType type;
  uint8_t* scales;  ///< in the record: written before any code
};

KVLAB_HD inline TensorPart tensorOf(const WriteRowsArgs& a, const RowLayout& o, int64_t i, bool isV) {
  uint8_t* record = a.pool + a.slots[i] * o.stride;
  return {isV ? a.v + i * a.vStride : a.k + i * a.kStride, int64_t{a.fmt.kvHeads} * a.fmt.headDim, a.fmt.headDim,
          isV ? a.fmt.v : a.fmt.k, record + (isV ? o.vScales : o.kScales)};
}

/// Counts of the writes of one part of the threads.
struct PartCounts {
  uint64_t nonFinite = 0, clipped = 0, atMax = 0;
};

KVLAB_HD inline void countValue(float x, DType t, PartCounts& counts) {
  const uint32_t magnitude = magnitudeBits(x);
  counts.nonFinite += !finiteBits(magnitude);
  counts.clipped += finiteBits(magnitude) && magnitude >= overflowBits(t);
}

/// 1 for types without a scale.
KVLAB_HD inline float scaleOfHead(const TensorPart& p, int64_t head) {
  float scale = 1.0f;
  if (dtypeHasScale(p.type)) memcpy(&scale, p.scales + 4 * head, 4);
  return scale;
}

/// Word `word` of the values as they are stored; zero behind them.
KVLAB_HD inline uint32_t storedWord(const TensorPart& p, int64_t word, PartCounts& counts) {
  const int64_t each = 4 / dtypeBytes(p.type), first = each * word;
  if (first >= p.count) return 0;
  uint32_t bits = 0;
  int64_t head = first / p.headDim;
  float scale = scaleOfHead(p, head);
  for (int64_t i = 0; i < each && first + i < p.count; ++i) {
    if (first + i == (head + 1) * p.headDim) scale = scaleOfHead(p, ++head);  // a word may hold codes of several heads
    const float x = p.values[first + i];
    countValue(x, p.type, counts);
    if (p.type == DType::f32) return std::bit_cast<uint32_t>(x);
    if (!dtypeHasScale(p.type)) {
      bits |= static_cast<uint32_t>(toHalfWord(x, p.type)) << (16 * i);
      continue;
    }
    const float quotient = x / scale;
    const uint8_t code = quantCode(quotient, p.type);
    counts.clipped += finiteBits(magnitudeBits(quotient)) && magnitudeBits(quotient) > clipBits(p.type);
    counts.atMax += quantAtMax(code, p.type);
    bits |= static_cast<uint32_t>(code) << (8 * i);
  }
  return bits;
}

/// Word `word` of a record's scales; they are there already, and zero behind them.
KVLAB_HD inline uint32_t scaleWord(const uint8_t* scales, int64_t heads, int64_t word) {
  uint32_t bits = 0;
  if (word < heads) memcpy(&bits, scales + 4 * word, 4);
  return bits;
}

/// Word `word` of the record of row i, before the tag.
KVLAB_HD inline uint32_t recordWord(const WriteRowsArgs& a, const RowLayout& o, int64_t i, int64_t word, PartCounts& k,
                                    PartCounts& v) {
  const int64_t at = 4 * word;
  if (at < o.v) return storedWord(tensorOf(a, o, i, false), word - o.k / 4, k);
  if (at < o.kScales) return storedWord(tensorOf(a, o, i, true), word - o.v / 4, v);
  const bool isV = at >= o.vScales;
  const int64_t heads = dtypeHasScale(isV ? a.fmt.v : a.fmt.k) ? a.fmt.kvHeads : 0;
  return scaleWord(tensorOf(a, o, i, isV).scales, heads, word - (isV ? o.vScales : o.kScales) / 4);
}

/// Largest magnitude among this part's values of a head.
KVLAB_HD inline uint32_t amaxPart(const TensorPart& p, int64_t head, int64_t part, int64_t parts) {
  uint32_t most = 0;
  for (int64_t e = part; e < p.headDim; e += parts) {
    const uint32_t magnitude = magnitudeBits(p.values[head * p.headDim + e]);
    most = most < magnitude ? magnitude : most;
  }
  return most;
}

/// Writes this part's words and returns their share of the checksum; scales are in the record before (amaxPart,
/// scaleOf); the seed, the tag and the sum of all shares are left to one thread (finishRecord).
KVLAB_HD inline uint64_t writeRecordPart(const WriteRowsArgs& a, const RowLayout& o, int64_t i, int64_t part,
                                         int64_t parts, PartCounts& k, PartCounts& v) {
  uint8_t* record = a.pool + a.slots[i] * o.stride;
  uint64_t sum = 0;
  for (int64_t word = part; word < o.tag / 4; word += parts) {
    const uint32_t bits = recordWord(a, o, i, word, k, v);
    memcpy(record + 4 * word, &bits, 4);
    sum += checksumTerm(bits, static_cast<uint64_t>(word));
  }
  return sum;
}

KVLAB_HD inline void finishRecord(const WriteRowsArgs& a, const RowLayout& o, int64_t i, uint64_t shares) {
  uint8_t* record = a.pool + a.slots[i] * o.stride;
  const uint64_t sum = checksumSeed(writeTag(record, o, a.fmt, a.tags[i])) + shares;
  memcpy(record + o.checksum, &sum, 8);
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

KVLAB_HD inline uint8_t verdictOf(const uint8_t* record, const RowLayout& o, const RowFormat& f, uint64_t shares,
                                  const uint64_t* wanted) {
  uint64_t stored, checksum;
  memcpy(&stored, record + o.tag, 8);
  memcpy(&checksum, record + o.checksum, 8);
  const bool badSum = checksumSeed(stored) + shares != checksum, badTag = wanted && *wanted != readTag(record, o, f);
  return static_cast<uint8_t>((badSum ? kRowBadChecksum : 0) | (badTag ? kRowBadTag : 0));
}

/// Value i of heads of headDim, stored as type t, as f32.
KVLAB_HD inline float storedValue(const uint8_t* from, const uint8_t* scales, DType t, int64_t headDim, int64_t i) {
  float x;
  if (t == DType::f32) {
    memcpy(&x, from + 4 * i, 4);
    return x;
  }
  if (dtypeHasScale(t)) {
    memcpy(&x, scales + 4 * (i / headDim), 4);
    return codeValue(from[i], t) * x;
  }
  uint16_t bits;
  memcpy(&bits, from + 2 * i, 2);
  return fromHalfWord(bits, t);
}

/// `count` values of heads of headDim, stored as type t -> f32, this part's of them.
KVLAB_HD inline void gatherPart(const uint8_t* from, const uint8_t* scales, DType t, int64_t count, int64_t headDim,
                                float* to, int64_t part, int64_t parts) {
  for (int64_t i = part; i < count; i += parts) to[i] = storedValue(from, scales, t, headDim, i);
}

}  // namespace kvlab::kernels
