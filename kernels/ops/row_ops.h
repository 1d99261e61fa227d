// SPDX-License-Identifier: Apache-2.0
// Everything that touches row records (row_format.h). A pool is [slots] records; slots are physical
// row numbers and must lie inside the pool (the caller checks); pools start at 16-byte boundaries.
#pragma once

#include <cstdint>

#include "kernels/context.h"
#include "kernels/row_format.h"

namespace kvlab::kernels {

/// What a write saw, added to what is there already.
struct WriteRowsStats {
  int64_t nonFinite = 0;  ///< inputs that were NaN or infinite
  int64_t clipped = 0;    ///< finite inputs that became infinite in the storage type
};

struct WriteRowsArgs {
  uint8_t* pool = nullptr;
  RowFormat fmt;
  const float* k = nullptr;         ///< [n, kvHeads*headDim], row stride kStride
  const float* v = nullptr;         ///< [n, kvHeads*headDim], row stride vStride
  const uint64_t* tags = nullptr;   ///< [n]
  const int32_t* slots = nullptr;   ///< [n], distinct
  int64_t n = 0;
  int64_t kStride = 0;              ///< in floats; 0 means kvHeads*headDim
  int64_t vStride = 0;
  WriteRowsStats* stats = nullptr;  ///< optional; counting costs a second look at the input
};

/// Converts, writes values, zero padding, tag and checksum.
void writeRows(const Context&, const WriteRowsArgs&);

/// Copies `count` consecutive records; source and destination may overlap (memmove).
struct RowMove {
  int32_t from = 0;
  int32_t to = 0;
  int32_t count = 1;
};

struct MoveRowsArgs {
  const uint8_t* fromPool = nullptr;  ///< may equal toPool
  uint8_t* toPool = nullptr;
  RowFormat fmt;
  const RowMove* moves = nullptr;  ///< [n], applied one after another
  int64_t n = 0;
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
  const int32_t* slots = nullptr;  ///< [n] in the order wanted
  int64_t n = 0;
  float* k = nullptr;  ///< [n, kvHeads*headDim] or null
  float* v = nullptr;  ///< [n, kvHeads*headDim] or null
};

/// Reads rows to contiguous f32 as stored (no rotation).
void gatherRows(const Context&, const GatherRowsArgs&);

enum RowVerdict : uint8_t { kRowGood = 0, kRowBadChecksum = 1, kRowBadTag = 2 };

struct VerifyRowsArgs {
  const uint8_t* pool = nullptr;
  RowFormat fmt;
  const int32_t* slots = nullptr;   ///< [n]
  const uint64_t* tags = nullptr;   ///< [n] expected, or null to skip that comparison
  int64_t n = 0;
  uint8_t* verdicts = nullptr;      ///< [n] of RowVerdict bits
  int64_t* bad = nullptr;           ///< optional; receives the number of rows not kRowGood
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

/// A pool of many that are looked at in one go.
struct PoolView {
  const uint8_t* pool = nullptr;
  RowFormat fmt;
};

struct MatchTagsArgs {
  const PoolView* pools = nullptr;  ///< [nPools]
  int64_t nPools = 0;
  const int32_t* slots = nullptr;   ///< [n], the same in every pool
  const uint64_t* tags = nullptr;   ///< [n] expected
  int64_t n = 0;
  int64_t* wrong = nullptr;         ///< [nPools] receives the number of rows that carry another tag
};

/// What a tick does to every row: one cache line each, no output per row.
void matchTags(const Context&, const MatchTagsArgs&);

}  // namespace kvlab::kernels
