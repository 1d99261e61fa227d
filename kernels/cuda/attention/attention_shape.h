// SPDX-License-Identifier: Apache-2.0
// The parts of a call of attention: the kernel, the batches of queries, and the layout of scratch. Host code.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cuda/attention/attention_index.h"

namespace kvlab::kernels::cuda {

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
