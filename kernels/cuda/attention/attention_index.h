// SPDX-License-Identifier: Apache-2.0
// The indices of attention on a device: the rows of each block that a query sees, the layout of scratch, and the shapes
// of shared memory. Functions for host and device alike, so that the host can test them.
// A block is 64 keys and counts by logical index (ops/attention.h); positions count in slots.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/ops/attention.h"
#include "kernels/platform.h"

namespace kvlab::kernels::cuda {

inline constexpr int kKeys = static_cast<int>(kAttentionBlock);

/// Maximum and sum of exp(score - maximum) of one query head over a block or over all rows.
struct RowStats {
  float max, sum;  ///< sum 0: nothing was seen
};

/// Rows that a query sees, as positions in slots: rows [begin, end), and the self row at `end` if last is above.
struct Seen {
  int begin = 0, end = 0, last = 0;
  KVLAB_HD bool empty() const { return begin >= last; }
};

KVLAB_HD inline Seen seenRange(int rowBegin, int rowEnd, bool self) {
  const int end = rowEnd > 0 ? rowEnd : 0, begin = rowBegin > 0 ? rowBegin : 0;
  return {begin < end ? begin : end, end, end + (self ? 1 : 0)};
}

/// Part of a range inside one block, as offsets: rows [lo, rowsEnd), self at rowsEnd if hi is above.
struct SeenPart {
  int lo = 0, rowsEnd = 0, hi = 0;
  KVLAB_HD bool empty() const { return lo >= hi; }
  KVLAB_HD bool hasSelf() const { return hi > rowsEnd; }
};

KVLAB_HD inline int offsetIn(int position, int start) {
  const int at = position - start;
  return at < 0 ? 0 : at > kKeys ? kKeys : at;
}

/// start: position of the first key of the block; below 0 where the block begins before slots[0].
KVLAB_HD inline SeenPart partAt(const Seen& s, int start) {
  return {offsetIn(s.begin, start), offsetIn(s.end, start), offsetIn(s.last, start)};
}

// Blocks count from the one of slots[0], whose first `skew` keys lie before slots[0].

KVLAB_HD inline int skewOf(int64_t indexBase) { return static_cast<int>(indexBase % kKeys); }
KVLAB_HD inline int startOf(int block, int skew) { return block * kKeys - skew; }

struct BlockSpan {
  int first = 0, end = 0;
};

KVLAB_HD inline BlockSpan blocksOf(const Seen& s, int skew) {
  if (s.empty()) return {};
  return {(skew + s.begin) / kKeys, (skew + s.last + kKeys - 1) / kKeys};
}

/// Blocks that a call can touch, that of a self row behind every row included.
KVLAB_HD inline int64_t blocksOfCall(const AttentionArgs& a) { return (skewOf(a.indexBase) + a.rows) / kKeys + 1; }

/// n / divisor for n < 1024 and divisor <= 64 by a multiplication.
struct SmallDivisor {
  uint32_t divisor = 1, factor = 65536;
  SmallDivisor() = default;
  KVLAB_HD SmallDivisor(uint32_t d, uint32_t f) : divisor(d), factor(f) {}
  explicit SmallDivisor(int64_t d)
      : divisor(static_cast<uint32_t>(d)), factor(static_cast<uint32_t>((65536 + d - 1) / d)) {}
  KVLAB_HD int quotient(int n) const { return static_cast<int>((static_cast<uint32_t>(n) * factor) >> 16); }
  KVLAB_HD int rest(int n) const { return n - quotient(n) * static_cast<int>(divisor); }
};

// Scratch: everything that does not fit a block of threads. Queries count from the first of a batch.

/// A batch of queries of a call, ready for kernels. Arrays that are not needed are null.
struct AttentionPlan {
  int64_t kOffset = 0, vOffset = 0;  ///< in a record, bytes
  int kScales = 0, vScales = 0;      ///< likewise; 0: the type has none
  int stride = 0;                    ///< bytes between records
  int group = 1;                     ///< query heads per KV head
  int skew = 0;                      ///< indexBase % 64
  int64_t blocks = 0;
  int stored = 0;              ///< masses are wanted of queries [stored, nQueries)
  float* values = nullptr;     ///< [nQueries, queryHeads, blocks, headDim] results of each block alone
  RowStats* states = nullptr;  ///< [nQueries, queryHeads, blocks]
  RowStats* finals = nullptr;  ///< [nQueries - stored, queryHeads] over all blocks
  float* maxima = nullptr;     ///< [nQueries - stored, queryHeads, blocks]
  float* kept = nullptr;       ///< [nQueries - stored, queryHeads, blocks, 64] exp(score - maximum of its block)

  KVLAB_HD int64_t stateAt(int q, int heads, int head, int block) const {
    return (int64_t{q} * heads + head) * blocks + block;
  }
  KVLAB_HD int64_t keptAt(int q, int heads, int head, int block) const {
    return stateAt(q - stored, heads, head, block);
  }
};

// Shared memory of the split kernel: a ring of stages, each some rows of K or of V of one head as they are
// stored. Rows are padded so that eight lanes a row, two values a lane, hit every bank once.

inline constexpr int kRing = 4;
inline constexpr int64_t kStageTarget = 4096;  ///< bytes

KVLAB_HD constexpr int64_t rowPitch(int64_t headDim, DType t) {
  const int64_t bytes = headDim * dtypeBytes(t), eight = 16 * dtypeBytes(t);
  return alignUp(bytes - eight, 2 * eight) + eight;
}

/// A power of two from 4 to 64.
KVLAB_HD constexpr int rowsPerStage(int64_t headDim, int64_t valueBytes) {
  int rows = kKeys;
  while (rows > 4 && rows * headDim * valueBytes > kStageTarget) rows /= 2;
  return rows;
}

/// Warps that share the blocks of one query and KV head, of `warps` that run at once, with `others` of them.
KVLAB_HD constexpr int stridesOf(int64_t warps, int64_t others, int64_t blocks) {
  const int64_t each = warps / others;
  return static_cast<int>(each < 1 ? 1 : each < blocks ? each : blocks);
}

// Shared memory of the tile kernel: f32 rows, padded so that four lanes a row, four values a lane, hit every
// bank once per quarter of a warp.

KVLAB_HD constexpr int tilePitch(int headDim) {
  const int dim = (headDim + 15) / 16 * 16;
  return dim % 32 == 0 ? dim + 16 : dim;
}

inline constexpr int kScorePitch = kKeys + 4;  ///< floats

/// 16-bit values between rows for tensor cores, heads rounded up to 16 values: 16 bytes of eight rows hit every bank
/// once.
KVLAB_HD constexpr int mmaPitch(int dim) { return dim + 8; }

// The parts of a call: the kernel, the batches of queries, and the layout of scratch. Host code.

inline constexpr int64_t kSplitQueries = 16;                ///< up to here blocks of keys are spread over the device
inline constexpr int64_t kGridEdge = 65535;                 ///< blocks of threads in y and z
inline constexpr int64_t kBatchBytes = int64_t{256} << 20;  ///< most bytes of scratch, unless one query needs more

struct ScratchSizes {
  int64_t values = 0, states = 0, finals = 0, maxima = 0, kept = 0;
  int64_t all() const { return values + states + finals + maxima + kept; }
};

/// Heads that kernels read in words of several values and hold in registers.
inline bool takesWords(const RowFormat& f) { return f.headDim % 8 == 0 && f.headDim <= 256; }
inline bool splitsKeys(const AttentionArgs& a) { return a.nQueries <= kSplitQueries && takesWords(a.fmt); }

/// Scratch of a batch of `queries` of a call, masses wanted of `stored` of them. Every part starts at a multiple of
/// 256.
inline ScratchSizes scratchOf(const AttentionArgs& a, int64_t queries, int64_t stored) {
  const int64_t blocks = blocksOfCall(a), rows = queries * a.queryHeads, kept = stored * a.queryHeads;
  const auto bytes = [](int64_t n) { return alignUp(n, 256); };
  ScratchSizes s;
  if (splitsKeys(a)) {
    s.values = bytes(rows * blocks * a.fmt.headDim * 4);
    s.states = bytes(rows * blocks * 8);
  }
  s.finals = bytes(kept * 8);
  s.maxima = bytes(kept * blocks * 4);
  s.kept = bytes(kept * blocks * kKeys * 4);
  return s;
}

/// Masses wanted of a batch that ends at query `end` of the call.
inline int64_t storedOf(const AttentionArgs& a, int64_t queries, int64_t end) {
  return a.mass.wantsReceived() ? queries : a.mass.wantsNewest() && end == a.nQueries ? 1 : 0;
}

inline int64_t queriesPerBatch(const AttentionArgs& a) {
  const int64_t each = scratchOf(a, 1, a.mass.wantsReceived() ? 1 : 0).all();
  return each == 0 ? a.nQueries : std::clamp<int64_t>(kBatchBytes / each, 1, std::min<int64_t>(a.nQueries, kGridEdge));
}

/// Query heads of one warp of the split kernel, evenly cut; the kernel's instance is the next power of two. If blocks
/// are too few for `warps`, the heads are spread, too, and read keys and values again from the cache.
inline int splitHeads(int group, int headDim, int64_t units, int64_t warps) {
  const int most = headDim <= 128 ? 8 : 2;
  int tiles = (group + most - 1) / most;
  while (tiles < group && units * tiles * 2 <= warps) tiles *= 2;
  tiles = std::min(tiles, group);
  return (group + tiles - 1) / tiles;
}

}  // namespace kvlab::kernels::cuda
