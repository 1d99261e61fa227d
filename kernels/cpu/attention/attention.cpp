// SPDX-License-Identifier: Apache-2.0
// Work is cut into items of (tile of queries, KV heads[, range of blocks]). An item reads, converts
// and rotates each key block once and uses it for all query heads of the group and all queries of
// the tile; few queries take several KV heads at once, so that records are read in long pieces.
// Items that cover a range of blocks only leave one partial result per block. These are merged
// afterwards, left to right, exactly as an item that walks all blocks does.
#include "kernels/ops/attention.h"

#include <algorithm>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "kernels/cpu/attention/attention_mass-inl.h"
#include "kernels/cpu/linear/dot_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kTileTarget = 64;       // query rows per item, about; twice as many over kManyRows
constexpr int64_t kManyRows = 2048;       // from here on copying a block costs more than queries that see little of it
constexpr int64_t kKeptBytes = 32 << 20;  // probabilities kept per batch when masses are wanted
constexpr int64_t kWorkPerItem = 65536;   // multiply-adds worth handing to another thread

HWY_INLINE void loadKeyAndValue(const Call& c, int64_t head, int32_t slot, int32_t phase, float* key, float* value) {
  const AttentionArgs& a = c.a;
  const int64_t n = a.fmt.headDim;
  const uint8_t* record = a.pool + slot * c.layout.stride;
  withRowType(a.fmt.k, [&](auto t) {
    const uint8_t* from = record + c.layout.k + head * n * dtypeBytes(t());
    const uint8_t* scale = record + c.layout.kScales + 4 * head;
    if (a.keysRotated) {
      readHead<t()>(from, scale, key, n);
    } else {
      rotateHead<t()>(from, scale, a.rotaryTable + int64_t{phase} * rotaryWidth(a.fmt.headDim), n, key);
    }
  });
  withRowType(a.fmt.v, [&](auto t) {
    readHead<t()>(record + c.layout.v + head * n * dtypeBytes(t()), record + c.layout.vScales + 4 * head, value, n);
  });
  std::fill(key + n, key + c.dim, 0.0f);
  std::fill(value + n, value + c.dim, 0.0f);
}

HWY_NOINLINE void loadRow(const Call& c, int64_t head, int64_t position, float* key, float* value) {
  const int32_t phase = c.a.keysRotated ? 0 : c.a.phaseIndex[position];
  loadKeyAndValue(c, head, c.a.slots[position], phase, key, value);
}

HWY_INLINE void loadQueries(const Call& c, const Item& item, int64_t head, float* to) {
  const int64_t n = c.a.fmt.headDim;
  for (int64_t q = item.q0; q < item.q1; ++q) {
    const float* from = c.a.queries + q * c.a.queryStride + head * c.group * n;
    for (int64_t g = 0; g < c.group; ++g, from += n, to += c.dim) {
      std::copy(from, from + n, to);
      std::fill(to + n, to + c.dim, 0.0f);
    }
  }
}

HWY_NOINLINE void scoreBlock(const Call& c, const Buffers& b, int64_t rows, int64_t lo, int64_t hi) {
  if (lo >= hi) return;
  panelProduct({.x = b.queries,
                .xStride = c.dim,
                .m = rows,
                .w = b.keys + lo * c.dim,
                .wStride = c.dim,
                .n = hi - lo,
                .k16 = c.dim,
                .y = b.scores + lo,
                .yStride = 64});
}

}  // namespace

void loadSelf(const Call& c, int64_t head, int64_t q, const Buffers& b) {
  const int32_t phase = c.a.keysRotated ? 0 : c.a.selfPhaseIndex[q];
  loadKeyAndValue(c, head, c.a.selfSlot[q], phase, b.selfKey, b.selfValue);
}

/// The self row is another one for every query, so its scores come on their own.
void scoreSelf(const Call& c, int64_t head, const Buffers& b, int64_t q, int64_t row, const Part& p) {
  loadSelf(c, head, q, b);
  panelProduct({.x = b.queries + row * c.dim,
                .xStride = c.dim,
                .m = c.group,
                .w = b.selfKey,
                .wStride = c.dim,
                .n = 1,
                .k16 = c.dim,
                .y = b.scores + row * 64 + p.rowsEnd,
                .yStride = 64});
}

namespace {

/// Rows [row, row + Q) of the item, which see the same part of the block.
template <int Q>
HWY_INLINE void attendRows(const Call& c, const Item& item, const Buffers& b, const Part& p, int64_t head, int64_t row,
                           int64_t start, int64_t partial) {
  Softmax blocks[Q];
  float* scores = b.scores + row * 64;
  for (int64_t i = 0; i < Q; ++i) {
    const int64_t r = row + i;
    blocks[i] = softenRow(c, p, scores + i * 64, item.q0 + r / c.group, head * c.group + r % c.group, start);
  }
  weighRows<Q>({scores + p.lo, p.rowsEnd - p.lo, p.hasSelf() ? b.selfValue : nullptr}, b.values + p.lo * c.dim, c.dim,
               b.block);
  for (int64_t i = 0; i < Q; ++i) storeOrMerge(c, item, b, partial, row + i, blocks[i], b.block + i * c.dim);
}

/// Queries of the item in one KV head against the loaded block; b as of that head.
HWY_INLINE void attendHead(const Call& c, const Item& item, const Buffers& b, int64_t head, int64_t start,
                           int64_t partial) {
  for (int64_t q = item.q0, end = q; q < item.q1; q = end) {
    const Part p = partOf(rangeOf(c.a, q), start);
    end = q + 1;
    if (p.empty()) continue;
    while (!p.hasSelf() && end < item.q1 && partOf(rangeOf(c.a, end), start) == p) ++end;
    int64_t row = (q - item.q0) * c.group;
    const int64_t last = (end - item.q0) * c.group;
    if (p.hasSelf()) scoreSelf(c, head, b, q, row, p);
    for (; row + 3 <= last; row += 3) attendRows<3>(c, item, b, p, head, row, start, partial);
    if (row + 2 == last) attendRows<2>(c, item, b, p, head, row, start, partial);
    if (row + 1 == last) attendRows<1>(c, item, b, p, head, row, start, partial);
  }
}

HWY_INLINE void loadBlock(const Call& c, const Item& item, const Buffers& b, const Part& all, int64_t start) {
  for (int64_t j = all.lo; j < all.rowsEnd; ++j) {
    prefetchKeys(c, item, start + j + kRowsAhead);
    prefetchValues(c, start + j + kRowsAhead, item.head0, item.head1);
    for (int64_t head = item.head0; head < item.head1; ++head) {
      const int64_t at = ((head - item.head0) * 64 + j) * c.dim;
      loadRow(c, head, start + j, b.keys + at, b.values + at);
    }
  }
}

HWY_INLINE void attendBlock(const Call& c, const Item& item, const Buffers& b, int64_t start, int64_t blockOfTile) {
  const Part all = unionOf(c, item, start);
  loadBlock(c, item, b, all, start);
  for (int64_t head = item.head0; head < item.head1; ++head) {
    const Buffers mine = b.ofHead(c, head - item.head0);
    const int64_t partial = item.partials ? head * item.partials->blocks + blockOfTile : 0;
    scoreBlock(c, mine, (item.q1 - item.q0) * c.group, all.lo, all.rowsEnd);
    attendHead(c, item, mine, head, start, partial);
  }
}

/// One query: rows are read in place.
HWY_INLINE void streamBlock(const Call& c, const Item& item, const Buffers& b, int64_t start, int64_t blockOfTile) {
  switch (c.dim) {
    case 32: return streamBlockOf<32>(c, item, b, start, blockOfTile);
    case 48: return streamBlockOf<48>(c, item, b, start, blockOfTile);
    case 64: return streamBlockOf<64>(c, item, b, start, blockOfTile);
    case 128: return streamBlockOf<128>(c, item, b, start, blockOfTile);
    case 256: return streamBlockOf<256>(c, item, b, start, blockOfTile);
    default: return;
  }
}

HWY_INLINE void finishHead(const Call& c, const Item& item, int64_t head, const Softmax* states, const float* values) {
  const int64_t n = c.a.fmt.headDim;
  for (int64_t q = item.q0; q < item.q1; ++q) {
    for (int64_t g = 0; g < c.group; ++g, ++states, values += c.dim) {
      const int64_t queryHead = head * c.group + g;
      Softmax all = *states;
      if (c.a.sinks && all.sum != 0.0f) all.sum += expOne(c.a.sinks[queryHead] - all.max);
      finishRow(all, values, n, c.a.out + q * c.a.outStride + queryHead * n);
      if (q >= c.stored) c.finals[(q - c.stored) * c.a.queryHeads + queryHead] = all;
    }
  }
}

void runItem(const Call& c, const Item& item, std::byte* memory) {
  const Buffers b(c, memory);
  for (int64_t head = item.head0; head < item.head1; ++head) {
    const Buffers mine = b.ofHead(c, head - item.head0);
    loadQueries(c, item, head, mine.queries);
    std::fill(mine.states, mine.states + c.tile * c.group, Softmax());
  }
  const int64_t firstOfTile = blocksOf(c, item.q0, item.q1).first;
  for (int64_t block = item.firstBlock; block < item.endBlock; ++block) {
    const int64_t start = block * kAttentionBlock - c.a.indexBase;
    if (c.streamed) streamBlock(c, item, b, start, block - firstOfTile);
    else attendBlock(c, item, b, start, block - firstOfTile);
  }
  for (int64_t head = item.head0; !item.partials && head < item.head1; ++head) {
    const Buffers mine = b.ofHead(c, head - item.head0);
    finishHead(c, item, head, mine.states, mine.running);
  }
}

// Whole tiles: enough items for all threads.

void runTiles(ThreadPool& pool, const Call& c, int64_t q0, int64_t q1) {
  const int64_t tiles = (q1 - q0 + c.tile - 1) / c.tile;
  const int64_t batches = (c.a.fmt.kvHeads + c.batch - 1) / c.batch;
  const BlockRange all = blocksOf(c, q0, q1);
  const int64_t work = (all.end - all.first) * kAttentionBlock * c.dim * c.group * c.batch * std::min(c.tile, q1 - q0);
  const int64_t grain = std::max<int64_t>(1, kWorkPerItem / std::max<int64_t>(1, work));
  pool.parallelFor(0, tiles * batches, grain, [&](int64_t from, int64_t to, int worker) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t first = q0 + i / batches * c.tile, end = std::min(q1, first + c.tile);
      const int64_t head = i % batches * c.batch;
      const BlockRange blocks = blocksOf(c, first, end);
      const int64_t endHead = std::min<int64_t>(head + c.batch, c.a.fmt.kvHeads);
      runItem(c, {first, end, head, endHead, blocks.first, blocks.end, nullptr},
              pool.scratch(worker, Buffers::bytes(c)));
    }
  });
}

// One tile and few heads over many rows: items take ranges of blocks.

HWY_INLINE void mergeHead(const Call& c, const Item& item, int64_t head, std::byte* memory) {
  const Buffers b(c, memory);
  const int64_t stride = c.tile * c.group, rows = (item.q1 - item.q0) * c.group;
  const int64_t begin = head * item.partials->blocks * stride;
  std::fill(b.states, b.states + rows, Softmax());
  for (int64_t at = begin; at < begin + item.partials->blocks * stride; at += stride) {
    for (int64_t r = 0; r < rows; ++r) {
      const Softmax& block = item.partials->states[at + r];
      const float* values = item.partials->values + (at + r) * c.dim;
      if (block.sum != 0.0f) mergeBlock(b.states[r], b.running + r * c.dim, block, values, c.dim);
    }
  }
  finishHead(c, item, head, b.states, b.running);
}

HWY_INLINE int64_t blocksPerRun(const ThreadPool& pool, int64_t blocks) {
  return std::max<int64_t>(2, blocks / (4 * pool.threads()));
}

void runSplit(ThreadPool& pool, const Call& c, int64_t q0, int64_t q1, std::byte* memory) {
  const BlockRange range = blocksOf(c, q0, q1);
  const int64_t blocks = range.end - range.first, heads = c.a.fmt.kvHeads;
  const int64_t states = heads * blocks * c.tile * c.group;
  const Partials all{reinterpret_cast<Softmax*>(memory), reinterpret_cast<float*>(memory + states * 8), blocks};
  std::fill(all.states, all.states + states, Softmax());
  const int64_t run = blocksPerRun(pool, blocks);
  const int64_t batches = (heads + c.batch - 1) / c.batch, runs = (blocks + run - 1) / run;
  pool.parallelFor(0, batches * runs, 1, [&](int64_t from, int64_t to, int worker) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t first = range.first + i / batches * run, head = i % batches * c.batch;
      runItem(c, {q0, q1, head, std::min(heads, head + c.batch), first, std::min(range.end, first + run), &all},
              pool.scratch(worker, Buffers::bytes(c)));
    }
  });
  pool.parallelFor(0, heads, 1, [&](int64_t from, int64_t to, int worker) {
    for (int64_t h = from; h < to; ++h) {
      mergeHead(c, {q0, q1, h, h + 1, range.first, range.end, &all}, h, pool.scratch(worker, Buffers::bytes(c)));
    }
  });
}

HWY_INLINE bool worthSplitting(const ThreadPool& pool, const Call& c, int64_t q0, int64_t q1) {
  const BlockRange range = blocksOf(c, q0, q1);
  return q1 - q0 <= c.tile && pool.threads() > 1 && range.end - range.first >= 16;
}

/// The number of KV heads per item: as many as fit in a quarter of a megabyte, and one if there are many queries. If
/// rows are read in place, an item takes all heads, so that records are read in long pieces.
HWY_INLINE int64_t headsPerItem(int64_t kvHeads, int64_t dim, int64_t queryRows, bool streamed) {
  if (streamed) return std::min(kvHeads, kMaxHeads / queryRows);
  const int64_t perHead = 4 * dim * 2 * (kAttentionBlock + queryRows);
  return std::clamp<int64_t>((256 << 10) / perHead, 1, queryRows < kTileTarget ? kvHeads : 1);
}

/// KV heads per item that leave every thread something to do; where blocks are split, four items.
HWY_INLINE int64_t headsPerThread(const ThreadPool& pool, const Call& c, int64_t q0, int64_t q1, bool split) {
  const int64_t heads = c.a.fmt.kvHeads, threads = pool.threads();
  if (!split) return (heads + threads - 1) / threads;
  const BlockRange range = blocksOf(c, q0, q1);
  const int64_t blocks = range.end - range.first, run = blocksPerRun(pool, blocks), runs = (blocks + run - 1) / run;
  return std::max<int64_t>(1, heads * runs / (4 * threads));
}

HWY_INLINE int64_t partialBytes(const Call& c, int64_t q0, int64_t q1) {
  const BlockRange range = blocksOf(c, q0, q1);
  return (range.end - range.first) * c.a.fmt.kvHeads * c.tile * c.group * (8 + 4 * c.dim);
}

/// Queries [q0, q1), keeping probabilities from c.stored on.
void runBatch(ThreadPool& pool, Call& c, int64_t q0, int64_t q1) {
  const int64_t rows = (q1 - c.stored) * c.a.queryHeads, blocks = rows * c.keptBlocks;
  const bool split = worthSplitting(pool, c, q0, q1);
  c.batch = std::min(c.batch, headsPerThread(pool, c, q0, q1, split));
  const int64_t keptBytes = blocks * kAttentionBlock * 4, maximaBytes = alignUp(blocks * 4, 64);
  const int64_t finalBytes = alignUp(rows * 8, 64), splitBytes = split ? partialBytes(c, q0, q1) : 0;
  std::byte* memory = pool.sharedScratch(static_cast<size_t>(keptBytes + maximaBytes + finalBytes + splitBytes));
  c.kept = reinterpret_cast<float*>(memory);
  c.maxima = reinterpret_cast<float*>(memory += keptBytes);
  c.finals = reinterpret_cast<Softmax*>(memory += maximaBytes);
  std::fill(c.maxima, c.maxima + blocks, kMinusInfinity);
  if (split) {
    runSplit(pool, c, q0, q1, memory + finalBytes);
  } else {
    runTiles(pool, c, q0, q1);
  }
  if (rows > 0) writeMasses(pool, c, q1);
}

}  // namespace

void attentionTarget(ThreadPool& pool, const AttentionArgs& a) {
  const int64_t group = a.queryHeads / a.fmt.kvHeads;
  const int64_t tile = std::min(a.nQueries, std::max<int64_t>(1, (a.rows < kManyRows ? 1 : 2) * kTileTarget / group));
  const int64_t dim = alignUp(a.fmt.headDim, 16);
  const bool streamed = a.nQueries == 1 && group <= kMaxGroup && streamable(a.fmt.headDim);
  Call c{a,
         rowLayout(a.fmt),
         dim,
         group,
         tile,
         headsPerItem(a.fmt.kvHeads, dim, tile * group, streamed),
         0,
         streamed,
         (a.indexBase % kAttentionBlock + a.rows) / kAttentionBlock + 1,
         nullptr,
         nullptr,
         nullptr};
  const int64_t perQuery = a.queryHeads * c.keptBlocks * kAttentionBlock * 4;
  const int64_t batch = a.mass.wantsReceived() ? std::max<int64_t>(1, kKeptBytes / perQuery) : a.nQueries;
  const bool newest = a.mass.wantsNewest();
  for (int64_t q0 = 0; q0 < a.nQueries; q0 += batch) {
    const int64_t q1 = std::min(a.nQueries, q0 + batch);
    c.stored = a.mass.wantsReceived() ? q0 : newest && q1 == a.nQueries ? q1 - 1 : q1;
    runBatch(pool, c, q0, q1);
  }
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {
HWY_EXPORT(attentionTarget);

void attention(const Context& context, const AttentionArgs& args) {
  AttentionArgs a = args;
  if (a.nQueries <= 0) return;
  const int64_t width = int64_t{a.queryHeads} * a.fmt.headDim;
  if (a.queryStride == 0) a.queryStride = width;
  if (a.outStride == 0) a.outStride = width;
  const int64_t entries = a.rows + 1;
  if (a.mass.newest) std::fill(a.mass.newest, a.mass.newest + entries, 0.0f);
  if (a.mass.newestPerHead) std::fill(a.mass.newestPerHead, a.mass.newestPerHead + a.queryHeads * entries, 0.0f);
  HWY_DYNAMIC_DISPATCH(attentionTarget)(*context.pool, a);
}

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
