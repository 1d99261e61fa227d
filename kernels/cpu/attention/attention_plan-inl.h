// SPDX-License-Identifier: Apache-2.0
// The plan that attention.cpp derives from a call: which query sees which rows of which block, and the memory of one
// item. Positions count in slots; offsets count inside a block of 64 that is aligned to the logical index. And the
// common part of all items, whether an item copies rows or reads them in place: softmax of a block, results of a block,
// prefetching of rows.
#if defined(KVLAB_ATTENTION_PLAN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_ATTENTION_PLAN_INL_H
#undef KVLAB_ATTENTION_PLAN_INL_H
#else
#define KVLAB_ATTENTION_PLAN_INL_H
#endif

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/cpu/attention/attention_block-inl.h"
#include "kernels/cpu/rows/row_codes-inl.h"
#include "kernels/row_format.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

constexpr int64_t kRowsAtOnce = 8;                     // rows scored at once in a block that is read in place
constexpr int64_t kKeptLanes = kGroups == 1 ? 16 : 8;  // lanes kept of each of these rows

/// A call and everything that follows from its arguments.
struct Call {
  const AttentionArgs& a;
  RowLayout layout;
  int64_t dim;         // headDim padded to 16
  int64_t group;       // query heads per KV head
  int64_t tile;        // queries per tile
  int64_t batch;       // KV heads per item
  int64_t stored;      // probabilities are kept for queries [stored, end of batch)
  bool streamed;       // one query: rows are read in place (attention_stream-inl.h)
  int64_t keptBlocks;  // blocks from the one of indexBase to that of a self row behind every row
  float* kept;         // [queries stored, queryHeads, keptBlocks, 64] exp(score - maximum of its block)
  float* maxima;       // [queries stored, queryHeads, keptBlocks] maxima of the kept blocks; -inf: nothing was kept
  Softmax* finals;     // [queries stored, queryHeads]

  int64_t keptAt(int64_t q, int64_t queryHead, int64_t block) const {
    return ((q - stored) * a.queryHeads + queryHead) * keptBlocks + block - a.indexBase / kAttentionBlock;
  }
};

/// The rows that a query sees, as positions in slots: [begin, end), and the self row at `end`.
struct Range {
  int64_t begin, end, last;  // last = end, or end + 1 with a self row
  bool hasSelf() const { return last > end; }
  bool empty() const { return begin >= last; }
};

HWY_INLINE Range rangeOf(const AttentionArgs& a, int64_t q) {
  const int64_t end = std::max<int64_t>(a.rowEnd[q], 0);
  const bool self = a.selfSlot && a.selfSlot[q] >= 0;
  return {std::min<int64_t>(std::max<int64_t>(a.rowBegin[q], 0), end), end, end + (self ? 1 : 0)};
}

/// Memory of one item, every array once per KV head of the item except the last four.
struct Buffers {
  float *keys, *values;        // [64, dim]; not used when streamed
  float* queries;              // [tile * group, dim]
  float* running;              // [tile * group, dim]
  Softmax* states;             // [tile * group]
  float* scores;               // [tile * group, 64]
  float* lanes;                // [heads * group, kRowsAtOnce, kKeptLanes] lanes of scores, when streamed
  float* block;                // [max(group, 3), dim]; [heads * group, dim] when streamed
  float *selfKey, *selfValue;  // [dim]

  static size_t bytes(const Call& c) {
    const int64_t rows = c.tile * c.group;
    const int64_t perHead = copied(c) * 2 * 64 * c.dim + rows * (2 * c.dim + 64 + 2) + lanesOf(c);
    return static_cast<size_t>(4 * (c.batch * perHead + (blockRowsOf(c) + 2) * c.dim));
  }

  static int64_t copied(const Call& c) { return c.streamed ? 0 : 1; }
  static int64_t blockRowsOf(const Call& c) { return c.streamed ? c.batch * c.group : std::max<int64_t>(c.group, 3); }
  static int64_t lanesOf(const Call& c) { return c.streamed ? c.group * kRowsAtOnce * kKeptLanes : 0; }

  Buffers(const Call& c, std::byte* memory) {
    const int64_t rows = c.tile * c.group;
    auto* at = reinterpret_cast<float*>(memory);
    const auto take = [&at](int64_t count) { return std::exchange(at, at + count); };
    keys = take(copied(c) * c.batch * 64 * c.dim);
    values = take(copied(c) * c.batch * 64 * c.dim);
    queries = take(c.batch * rows * c.dim);
    running = take(c.batch * rows * c.dim);
    scores = take(c.batch * rows * 64);
    lanes = take(c.batch * lanesOf(c));
    block = take(blockRowsOf(c) * c.dim);
    selfKey = take(c.dim);
    selfValue = take(c.dim);
    states = reinterpret_cast<Softmax*>(take(c.batch * 2 * rows));
  }

  /// The arrays of the i-th KV head.
  Buffers ofHead(const Call& c, int64_t i) const {
    const int64_t rows = c.tile * c.group;
    Buffers b = *this;
    b.keys += i * 64 * c.dim;
    b.values += i * 64 * c.dim;
    b.queries += i * rows * c.dim;
    b.running += i * rows * c.dim;
    b.scores += i * rows * 64;
    b.states += i * rows;
    return b;
  }
};

/// One result per block instead of a running result.
struct Partials {
  Softmax* states = nullptr;  // [kvHeads, blocks, tile * group]
  float* values = nullptr;    // [kvHeads, blocks, tile * group, dim]
  int64_t blocks = 0;
};

/// Queries [q0, q1), KV heads [head0, head1) and the blocks they walk.
struct Item {
  int64_t q0, q1, head0, head1;
  int64_t firstBlock, endBlock;
  const Partials* partials;  // null: merge while walking
};

/// Part of a query's range inside the block that starts at position `start`.
struct Part {
  int64_t lo, rowsEnd, hi;  // offsets in the block: rows [lo, rowsEnd), self at rowsEnd if hi is above
  bool empty() const { return lo >= hi; }
  bool hasSelf() const { return hi > rowsEnd; }
  bool operator==(const Part&) const = default;
};

HWY_INLINE Part partOf(const Range& r, int64_t start) {
  const auto clamp = [&](int64_t position) { return std::clamp<int64_t>(position - start, 0, kAttentionBlock); };
  return {clamp(r.begin), clamp(r.end), clamp(r.last)};
}

/// Rows that any query of the tile sees in the block at `start`.
HWY_INLINE Part unionOf(const Call& c, const Item& item, int64_t start) {
  Part all{kAttentionBlock, 0, 0};
  for (int64_t q = item.q0; q < item.q1; ++q) {
    const Part p = partOf(rangeOf(c.a, q), start);
    if (p.lo < p.rowsEnd) all = {std::min(all.lo, p.lo), std::max(all.rowsEnd, p.rowsEnd), 0};
  }
  return all;
}

/// The block at position `start` for one query, rows of heads of kDim values read in place (attention_stream-inl.h): a
/// file for each width.
template <int kDim>
void streamBlockOf(const Call& c, const Item& item, const Buffers& b, int64_t start, int64_t blockOfTile);

/// Reads the self row of a query into b.selfKey and b.selfValue, and gives its score for a group of query heads;
/// `row` is the first of the item's.
void loadSelf(const Call& c, int64_t head, int64_t q, const Buffers& b);
void scoreSelf(const Call& c, int64_t head, const Buffers& b, int64_t q, int64_t row, const Part& p);

constexpr int64_t kMaxGroup = 64,
                  kMaxHeads = 256;  // query heads of one KV head, and of an item, that are streamed at most

/// Head dimensions that rows are read in place for, in whole registers for each half; or in three.
HWY_INLINE bool streamable(int64_t headDim) {
  return (headDim == 32 || headDim == 48 || headDim == 64 || headDim == 128 || headDim == 256) &&
      (headDim / 2 % kLanes == 0 || headDim == 3 * kLanes);
}

/// Blocks (counted by logical index) that the queries [q0, q1) see: [first, end).
struct BlockRange {
  int64_t first, end;
};

HWY_INLINE BlockRange blocksOf(const Call& c, int64_t q0, int64_t q1) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = 0;
  for (int64_t q = q0; q < q1; ++q) {
    const Range r = rangeOf(c.a, q);
    if (r.empty()) continue;
    first = std::min(first, r.begin);
    last = std::max(last, r.last);
  }
  if (last == 0) return {0, 0};
  const int64_t base = c.a.indexBase;
  return {(base + first) / kAttentionBlock, (base + last + kAttentionBlock - 1) / kAttentionBlock};
}

constexpr int64_t kRowsAhead = 64;  // rows prefetched ahead of their use

/// Rows of one head lie a record apart, too far for the hardware to prefetch.
HWY_INLINE void prefetchPiece(const uint8_t* values, const uint8_t* scales, const RowFormat& f, DType t, int64_t head0,
                              int64_t head1) {
  const int64_t bytes = f.headDim * dtypeBytes(t);
  for (int64_t at = head0 * bytes; at < head1 * bytes; at += 64) prefetchFar(values + at);
  if (dtypeHasScale(t)) prefetchFar(scales + 4 * head0);
}

HWY_INLINE void prefetchKeys(const Call& c, const Item& item, int64_t position) {
  if (position >= c.a.rows) return;
  const uint8_t* record = c.a.pool + c.a.slots[position] * c.layout.stride;
  prefetchPiece(record + c.layout.k, record + c.layout.kScales, c.a.fmt, c.a.fmt.k, item.head0, item.head1);
}

HWY_INLINE void prefetchValues(const Call& c, int64_t position, int64_t head0, int64_t head1) {
  if (position >= c.a.rows) return;
  const uint8_t* record = c.a.pool + c.a.slots[position] * c.layout.stride;
  prefetchPiece(record + c.layout.v, record + c.layout.vScales, c.a.fmt, c.a.fmt.v, head0, head1);
}

HWY_INLINE void keepBlock(const Call& c, int64_t q, int64_t queryHead, int64_t block, const float* p, float maximum) {
  if (q < c.stored) return;
  const int64_t at = c.keptAt(q, queryHead, block);
  c.maxima[at] = maximum;
  std::copy(p, p + kAttentionBlock, c.kept + at * kAttentionBlock);
}

/// One query head: scores of the block -> weights, and their Softmax.
HWY_INLINE Softmax softenRow(const Call& c, const Part& p, float* s, int64_t q, int64_t queryHead, int64_t start) {
  Softmax block;
  block.max = maskScores(s, p.lo, p.hi, c.a.scale, c.a.cap);
  block.sum = expScores(s, block.max);
  keepBlock(c, q, queryHead, (start + c.a.indexBase) / kAttentionBlock, s, block.max);
  return block;
}

HWY_INLINE void storeOrMerge(const Call& c, const Item& item, const Buffers& b, int64_t partial, int64_t row,
                             const Softmax& block, const float* values) {
  if (!item.partials) {
    mergeBlock(b.states[row], b.running + row * c.dim, block, values, c.dim);
    return;
  }
  const int64_t at = partial * c.tile * c.group + row;
  item.partials->states[at] = block;
  std::copy(values, values + c.dim, item.partials->values + at * c.dim);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_ATTENTION_PLAN_INL_H
