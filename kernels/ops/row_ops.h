// SPDX-License-Identifier: Apache-2.0
// All ops that touch row records (row_format.h). A pool is [slots] records; slots are physical
// row numbers and must lie inside the pool (the caller checks); pools start at 16-byte boundaries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/context.h"
#include "kernels/row_format.h"

namespace kvlab::kernels {

/// Counts of the writes of one tensor. Counts are exact, so neither threads nor the order of rows change them.
struct TensorStats {
  static constexpr int kSumWords = 6;

  int64_t nonFinite = 0;  ///< inputs that were NaN or infinite
  int64_t clipped = 0;  ///< finite inputs that the storage type cannot hold: they became infinite, or the largest code
  int64_t atMax = 0;    ///< codes of magnitude quantMax(); at least one of every head whose scale is above the floor
  int64_t scales = 0;   ///< finite scales written
  int64_t floored = 0;  ///< finite scales at the smallest scale there is: heads of (almost) only zeros
  float scaleMin = std::numeric_limits<float>::infinity();
  float scaleMax = 0.0f;
  uint64_t scaleSum[kSumWords] = {};  ///< fixed point: word i counts 2^(32 i - 50); scaleWords() of each scale

  double sumOfScales() const {
    double sum = 0, unit = 0x1p-50;
    for (const uint64_t word : scaleSum) sum += static_cast<double>(word) * unit, unit *= 0x1p32;
    return sum;
  }
  double meanScale() const { return scales == 0 ? 0 : sumOfScales() / static_cast<double>(scales); }

  void add(const TensorStats& from) {
    nonFinite += from.nonFinite;
    clipped += from.clipped;
    atMax += from.atMax;
    scales += from.scales;
    floored += from.floored;
    scaleMin = std::min(scaleMin, from.scaleMin);
    scaleMax = std::max(scaleMax, from.scaleMax);
    for (int i = 0; i < kSumWords; ++i) scaleSum[i] += from.scaleSum[i];
  }
};

/// Adds to the counts that are there already.
struct WriteRowsStats {
  TensorStats k, v;

  void add(const WriteRowsStats& from) {
    k.add(from.k);
    v.add(from.v);
  }
};

struct WriteRowsArgs {
  uint8_t* pool = nullptr;
  RowFormat fmt;
  const float* k = nullptr;        ///< [n, kvHeads*headDim], row stride kStride
  const float* v = nullptr;        ///< [n, kvHeads*headDim], row stride vStride
  const uint64_t* tags = nullptr;  ///< [n]
  const int32_t* slots = nullptr;  ///< [n], distinct
  int64_t n = 0;
  int64_t kStride = 0;  ///< in floats; 0 means kvHeads*headDim
  int64_t vStride = 0;
  WriteRowsStats* stats = nullptr;  ///< optional; cheap, above all for quantised types
};

/// Converts (row_quant.h), writes values, scales, zero padding, tag and checksum.
void writeRows(const Context&, const WriteRowsArgs&);

/// Copies `count` consecutive records; source and destination may overlap (memmove).
struct RowMove {
  int32_t from = 0;
  int32_t to = 0;
  int32_t count = 1;
};

inline int64_t rowsOf(std::span<const RowMove> moves) {
  int64_t rows = 0;
  for (const RowMove& move : moves) rows += move.count;
  return rows;
}

struct MoveRowsArgs {
  const uint8_t* fromPool = nullptr;  ///< may equal toPool
  uint8_t* toPool = nullptr;
  RowFormat fmt;
  const RowMove* moves = nullptr;  ///< [n], applied one after another
  int64_t n = 0;
  int64_t rows = 0;  ///< rowsOf() of the moves: opBytes() counts them, and a device plans its work with them
};

void moveRows(const Context&, const MoveRowsArgs&);

struct ZeroRowsArgs {
  uint8_t* pool = nullptr;
  RowFormat fmt;
  const int32_t* slots = nullptr;  ///< [n]
  int64_t n = 0;
};

/// Sets every byte of the records to 0. A zeroed record fails verifyRows.
void zeroRows(const Context&, const ZeroRowsArgs&);

struct GatherRowsArgs {
  const uint8_t* pool = nullptr;
  RowFormat fmt;
  const int32_t* slots = nullptr;  ///< [n] in the order of the output
  int64_t n = 0;
  float* k = nullptr;  ///< [n, kvHeads*headDim] or null
  float* v = nullptr;  ///< [n, kvHeads*headDim] or null
};

/// Reads rows to contiguous f32 as stored: codes times their scale, no rotation.
void gatherRows(const Context&, const GatherRowsArgs&);

struct RowNormsArgs {
  const uint8_t* pool = nullptr;
  RowFormat fmt;
  const int32_t* slots = nullptr;  ///< [n]
  int64_t n = 0;
  float* k = nullptr;  ///< [n] or null
  float* v = nullptr;  ///< [n] or null
};

/// L2 of each row over all heads, as stored. The sum is a dot product of numerics.h.
void rowNorms(const Context&, const RowNormsArgs&);

enum RowVerdict : uint8_t { kRowGood = 0, kRowBadChecksum = 1, kRowBadTag = 2 };

struct VerifyRowsArgs {
  const uint8_t* pool = nullptr;
  RowFormat fmt;
  const int32_t* slots = nullptr;  ///< [n]
  const uint64_t* tags = nullptr;  ///< [n] expected, or null to skip that comparison
  int64_t n = 0;
  uint8_t* verdicts = nullptr;  ///< [n] of RowVerdict bits
  int64_t* bad = nullptr;       ///< optional; receives the number of rows not kRowGood
};

void verifyRows(const Context&, const VerifyRowsArgs&);

struct ReadTagsArgs {
  const uint8_t* pool = nullptr;
  RowFormat fmt;
  const int32_t* slots = nullptr;  ///< [n]
  int64_t n = 0;
  uint64_t* tags = nullptr;       ///< [n] or null
  uint64_t* checksums = nullptr;  ///< [n] or null; as stored, not recomputed
};

void readTags(const Context&, const ReadTagsArgs&);

struct ReadScalesArgs {
  const uint8_t* pool = nullptr;
  RowFormat fmt;
  const int32_t* slots = nullptr;  ///< [n]
  int64_t n = 0;
  float* k = nullptr;         ///< [n, kvHeads] or null; 1 where the type has no scales
  float* v = nullptr;         ///< likewise
  int32_t* kAtMax = nullptr;  ///< [n] or null: codes of magnitude quantMax() in the row; 0 where there are no codes
  int32_t* vAtMax = nullptr;  ///< likewise
};

/// Reads scales, and counts codes at the limit, in stored rows.
void readScales(const Context&, const ReadScalesArgs&);

/// One of several pools that a single call looks at.
struct PoolView {
  const uint8_t* pool = nullptr;
  RowFormat fmt;
};

struct MatchTagsArgs {
  const PoolView* pools = nullptr;  ///< [nPools]
  int64_t nPools = 0;
  const int32_t* slots = nullptr;  ///< [n], the same in every pool
  const uint64_t* tags = nullptr;  ///< [n] expected
  int64_t n = 0;
  int64_t* wrong = nullptr;  ///< [nPools] receives the number of rows that carry another tag
};

/// Compares tags alone: one cache line per row, no output per row.
void matchTags(const Context&, const MatchTagsArgs&);

}  // namespace kvlab::kernels
