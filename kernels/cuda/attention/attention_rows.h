// SPDX-License-Identifier: Apache-2.0
// The parts of a call in kernels for many queries: tiles of rows, which are queries times query heads of one KV head,
// and the rows of a block of keys that the queries of a tile see.
#pragma once

#include "kernels/cuda/attention/attention_index.h"
#include "kernels/cuda/runtime/device_math.h"

namespace kvlab::kernels::cuda {

/// Values that all tiles of a launch share.
struct TileShape {
  int heads = 1, headTiles = 1;  ///< query heads of a tile; tiles for a group
  int queries = 1;               ///< queries of a tile
  SmallDivisor headsOf;          ///< row -> query
  SmallDivisor quadsOf;          ///< headDim / 8
  int pitch = 0;                 ///< floats between rows of queries, keys and values, where instances do not know it
};

struct Tile {
  int q0, kvHead, head;  ///< first query, KV head, first query head
  int queries, heads;    ///< present ones
};

__device__ __forceinline__ Tile tileOf(const AttentionArgs& a, const AttentionPlan& p, const TileShape& g, int tile,
                                       int heads) {
  Tile t;
  t.q0 = tile * g.queries;
  t.kvHead = heads / g.headTiles;
  const int firstHead = heads % g.headTiles * g.heads;
  t.head = t.kvHead * p.group + firstHead;
  t.heads = min(p.group - firstHead, g.heads);
  t.queries = min(static_cast<int>(a.nQueries) - t.q0, g.queries);
  return t;
}

/// Row of the tile -> offset of its query and its head; heads beyond the group and queries beyond the call are absent.
struct TileRow {
  int query, head;
  bool present;
};
__device__ __forceinline__ TileRow rowOf(const Tile& t, const TileShape& g, int row) {
  const int query = g.headsOf.quotient(row), head = g.headsOf.rest(row);
  return {query, head, query < t.queries && head < t.heads};
}

__device__ __forceinline__ int leastOfWarp(int x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = min(x, __shfl_xor_sync(kWholeWarp, x, step));
  return x;
}

/// Union of the blocks, or rows of one block, that the `count` queries of a tile see. Every warp computes it for
/// itself.
__device__ __forceinline__ BlockSpan spanOf(const Seen* seen, int count, int skew) {
  int first = INT32_MAX, end = 0;
  for (int q = static_cast<int>(threadIdx.x) % 32; q < count; q += 32) {
    if (seen[q].empty()) continue;
    const BlockSpan blocks = blocksOf(seen[q], skew);
    first = min(first, blocks.first), end = max(end, blocks.end);
  }
  return {leastOfWarp(first), -leastOfWarp(-end)};
}
__device__ __forceinline__ SeenPart unionAt(const Seen* seen, int count, int start) {
  int lo = kKeys, end = 0;
  bool self = false;
  for (int q = static_cast<int>(threadIdx.x) % 32; q < count; q += 32) {
    const SeenPart part = partAt(seen[q], start);
    self = self || part.hasSelf();
    if (part.lo < part.rowsEnd) lo = min(lo, part.lo), end = max(end, part.rowsEnd);
  }
  end = -leastOfWarp(-end);
  return {leastOfWarp(lo), end, __any_sync(kWholeWarp, self) ? end + 1 : end};
}

/// Slot and phase of row `threadIdx.x` of a block, read while the block before is at work.
struct RowAhead {
  int32_t slot = -1, phase = 0;  ///< slot -1: nobody sees it
};

/// `all`: rows of the block that the tile sees.
__device__ __forceinline__ RowAhead readRow(const AttentionArgs& a, const SeenPart& all, int start) {
  const int row = static_cast<int>(threadIdx.x);
  if (row >= kKeys || row < all.lo || row >= all.rowsEnd) return {};
  return {a.slots[start + row], a.keysRotated ? 0 : a.phaseIndex[start + row]};
}

}  // namespace kvlab::kernels::cuda
