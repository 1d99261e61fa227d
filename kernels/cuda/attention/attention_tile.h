// SPDX-License-Identifier: Apache-2.0
// Attention of many queries on a device: a block of threads takes a tile of kTileRows rows (queries times query
// heads of one KV head) and walks the key blocks that any of its queries sees, in order, merging as it goes.
//
// Keys and values pass through shared memory as f32, Keys rows at a time, converted and rotated once for the
// whole tile. Four warps share the rows of the tile, four each. Scores: a thread holds four of the 16 virtual lanes of
// Keys / 8 keys by four rows. Values: a thread owns four values by four rows. Merged values wait in shared
// memory, or in registers where headDim > 128, so that a tile fits the 64 KiB and the registers of old devices.
#pragma once

#include "kernels/cuda/attention/attention_index.h"
#include "kernels/cuda/attention/attention_math.h"
#include "kernels/cuda/attention/attention_rows.h"
#include "kernels/cuda/runtime/launch.h"

namespace kvlab::kernels::cuda {

inline constexpr int kTileRows = 16;
inline constexpr int kTileThreads = 128;
static_assert(kTileThreads / 32 * 4 == kTileRows && kTileThreads >= kKeys);

/// Keys of a chunk; width of a row of merged values in shared memory. `dim` is the instance's, 64, 128 or 256.
KVLAB_HD constexpr int tileKeys(int dim) { return dim <= 128 ? 32 : 16; }
KVLAB_HD constexpr int mergedWidth(int dim) { return dim <= 128 ? dim : 0; }

/// Shared memory of a tile, in floats.
struct TileShared {
  float* queries;  ///< [kTileRows, pitch]
  float* chunk;    ///< [Keys, pitch] rows of K or V
  float* scores;   ///< [kTileRows, kScorePitch]
  float* merged;   ///< [kTileRows, dim], or nothing
  float* stats;    ///< [kTileRows, 4]: running maximum, running sum, factor of what is left (-1: nothing is), factor of
                   ///< the block
  SeenPart* parts;  ///< [kTileRows] parts of the block; empty where a row is absent
  Seen* seen;       ///< [kTileRows] ranges of the tile's queries; empty where there is none
  int32_t* slots;   ///< [64]
  int32_t* phases;  ///< [64]

  static KVLAB_HD int64_t bytes(int dim, int pitch) {
    return 4 *
        ((kTileRows + tileKeys(dim)) * int64_t{pitch} + kTileRows * (kScorePitch + mergedWidth(dim) + 4 + 3 + 3) +
         2 * kKeys);
  }
  __device__ TileShared(float* memory, int dim, int pitch) {
    queries = memory;
    chunk = queries + kTileRows * pitch;
    scores = chunk + tileKeys(dim) * pitch;
    merged = scores + kTileRows * kScorePitch;
    stats = merged + kTileRows * mergedWidth(dim);
    parts = reinterpret_cast<SeenPart*>(stats + kTileRows * 4);
    seen = reinterpret_cast<Seen*>(parts + kTileRows);
    slots = reinterpret_cast<int32_t*>(seen + kTileRows);
    phases = slots + kKeys;
  }
};

__device__ __forceinline__ void loadTileQueries(const AttentionArgs& a, const Tile& t, const TileShape& g,
                                                const TileShared& s) {
  const int d = a.fmt.headDim;
  for (int row = static_cast<int>(threadIdx.x) / 32; row < kTileRows; row += kTileThreads / 32) {
    const TileRow r = rowOf(t, g, row);
    const float* from = a.queries + (t.q0 + r.query) * a.queryStride + int64_t{t.head + r.head} * d;
    for (int e = static_cast<int>(threadIdx.x) % 32; e < g.pitch; e += 32) {
      s.queries[row * g.pitch + e] = r.present && e < d ? from[e] : 0.0f;
    }
  }
  const int row = static_cast<int>(threadIdx.x), q = t.q0 + row;
  if (row >= kTileRows) return;
  s.stats[4 * row] = -INFINITY;
  s.stats[4 * row + 1] = 0.0f;
  s.seen[row] = row < t.queries ? seenRange(a.rowBegin[q], a.rowEnd[q], a.selfSlot && a.selfSlot[q] >= 0) : Seen();
}

__device__ __forceinline__ void storeRow(const RowAhead& row, const TileShared& s) {
  const int at = static_cast<int>(threadIdx.x);
  if (at < kKeys) s.slots[at] = row.slot, s.phases[at] = row.phase;
}

/// Four values of a row and the four half a head on.
struct Quads {
  float4 low, high;

  __device__ __forceinline__ void rotate(const float4& c, const float4& n) {
    const float4 x = low, y = high;
    low = make_float4(rotatedLow(x.x, y.x, c.x, n.x), rotatedLow(x.y, y.y, c.y, n.y), rotatedLow(x.z, y.z, c.z, n.z),
                      rotatedLow(x.w, y.w, c.w, n.w));
    high = make_float4(rotatedHigh(x.x, y.x, c.x, n.x), rotatedHigh(x.y, y.y, c.y, n.y),
                       rotatedHigh(x.z, y.z, c.z, n.z), rotatedHigh(x.w, y.w, c.w, n.w));
  }
};

/// The i-th piece of a chunk that a thread loads: values [value, value + 4) of a row, and four values half a head on.
template <int Keys>
struct ChunkPiece {
  int row, value;
  bool present;

  __device__ __forceinline__ ChunkPiece(const TileShape& g, int headDim, int i) {
    const int at = static_cast<int>(threadIdx.x) + i * kTileThreads;
    row = g.quadsOf.quotient(at);
    value = 4 * g.quadsOf.rest(at);
    present = at < Keys * headDim / 8;
  }
};

/// Rows [first, first + Keys) of K (rotated) or V into the chunk; rows that nobody sees stay as they are. Two
/// pieces of records are under way at once.
template <int Keys, int Dim, bool Scaled>
__device__ __forceinline__ void loadChunk(const AttentionArgs& a, const AttentionPlan& p, const Tile& t,
                                          const TileShape& g, const TileShared& s, int first, bool values) {
  constexpr int kEach = Keys * Dim / 8 / kTileThreads;
  const int d = a.fmt.headDim, half = d / 2;
  const DType type = values ? a.fmt.v : a.fmt.k;
  const uint8_t* from = a.pool + (values ? p.vOffset : p.kOffset) + t.kvHead * d * dtypeBytes(type);
  const uint8_t* scales = a.pool + (values ? p.vScales : p.kScales) + 4 * t.kvHead;
  const bool rotate = !values && !a.keysRotated;
  constexpr int kAtOnce = kEach < 2 ? kEach : 2;
#pragma unroll 1
  for (int piece = 0; piece < kEach; piece += kAtOnce) {
    Quads quads[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const ChunkPiece<Keys> at(g, d, piece + i);
      const int slot = at.present ? s.slots[first + at.row] : -1;
      const uint8_t* record = from + int64_t{slot < 0 ? 0 : slot} * p.stride;
      if (slot < 0) continue;
      const float scale = Scaled && dtypeHasScale(type) ? wordAt<float>(scales + int64_t{slot} * p.stride) : 1.0f;
      quads[i] = {quadAt<Scaled>(record, at.value, type, scale), quadAt<Scaled>(record, at.value + half, type, scale)};
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const ChunkPiece<Keys> at(g, d, piece + i);
      if (!at.present || s.slots[first + at.row] < 0) continue;
      if (rotate) {
        const float* table = a.rotaryTable + int64_t{s.phases[first + at.row]} * d + at.value;
        quads[i].rotate(wordAt<float4>(table), wordAt<float4>(table + half));
      }
      float* to = s.chunk + at.row * g.pitch + at.value;
      *reinterpret_cast<float4*>(to) = quads[i].low;
      *reinterpret_cast<float4*>(to + half) = quads[i].high;
    }
  }
}

/// Sums [Keys / 8][4 rows][4 lanes] of a thread over the four threads of a key: each keeps one row.
template <int Count>
__device__ __forceinline__ void foldTileLanes(const float (&sums)[Count][4][4], int t, float (&out)[Count]) {
#pragma unroll
  for (int m = 0; m < Count; ++m) {
    float two[2][4], one[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int r = 0; r < 2; ++r) {  // lanes j and j + 8 lie two threads apart
        const float given = t & 2 ? sums[m][r][i] : sums[m][r + 2][i];
        two[r][i] = (t & 2 ? sums[m][r + 2][i] : sums[m][r][i]) + __shfl_xor_sync(kWholeWarp, given, 2);
      }
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // j and j + 4 one thread
      const float given = t & 1 ? two[0][i] : two[1][i];
      one[i] = (t & 1 ? two[1][i] : two[0][i]) + __shfl_xor_sync(kWholeWarp, given, 1);
    }
    out[m] = (one[0] + one[2]) + (one[1] + one[3]);
  }
}

/// Scores of the tile's rows with the keys of the chunk, into columns [first, first + Keys).
template <int Keys>
__device__ __forceinline__ void scoreChunk(const AttentionArgs& a, const TileShape& g, const TileShared& s, int first) {
  constexpr int kCount = Keys / 8;
  const int t = static_cast<int>(threadIdx.x) & 3, key = (static_cast<int>(threadIdx.x) & 31) >> 2;
  const int row = static_cast<int>(threadIdx.x) / 32 * 4;
  const float* q = s.queries + row * g.pitch;
  const float* k = s.chunk + key * g.pitch;
  float sums[kCount][4][4] = {};
#pragma unroll 1
  for (int e = 4 * t; e < a.fmt.headDim; e += 16) {
    float4 x[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) x[r] = wordAt<float4>(q + r * g.pitch + e);
#pragma unroll
    for (int m = 0; m < kCount; ++m) {
      const float4 y = wordAt<float4>(k + 8 * m * g.pitch + e);
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        sums[m][r][0] = fmaf(x[r].x, y.x, sums[m][r][0]);
        sums[m][r][1] = fmaf(x[r].y, y.y, sums[m][r][1]);
        sums[m][r][2] = fmaf(x[r].z, y.z, sums[m][r][2]);
        sums[m][r][3] = fmaf(x[r].w, y.w, sums[m][r][3]);
      }
    }
  }
  float out[kCount];
  foldTileLanes(sums, t, out);
#pragma unroll
  for (int m = 0; m < kCount; ++m) s.scores[(row + t) * kScorePitch + first + key + 8 * m] = scoreOf(a, out[m]);
}

/// Scores of self rows: another key for every query. A warp takes a row of the tile in either half, a lane each.
template <bool Scaled>
__device__ __forceinline__ void scoreSelf(const AttentionArgs& a, const AttentionPlan& p, const Tile& t,
                                          const TileShape& g, const TileShared& s, int start) {
  const int d = a.fmt.headDim, lane = static_cast<int>(threadIdx.x) & 15;
  for (int pair = static_cast<int>(threadIdx.x) / 32 * 2; pair < kTileRows; pair += kTileThreads / 16) {
    const int row = pair + (static_cast<int>(threadIdx.x) >> 4 & 1);
    const TileRow r = rowOf(t, g, row);
    const SeenPart part = r.present ? partAt(s.seen[r.query], start) : SeenPart();
    const bool wanted = part.hasSelf();
    float sum = 0.0f;
    if (wanted) {
      const int q = t.q0 + r.query;
      const uint8_t* record = a.pool + int64_t{a.selfSlot[q]} * p.stride;
      const uint8_t* key = record + p.kOffset + t.kvHead * d * dtypeBytes(a.fmt.k);
      const float scale = Scaled && p.kScales > 0 ? wordAt<float>(record + p.kScales + 4 * t.kvHead) : 1.0f;
      const float* table = a.keysRotated ? nullptr : a.rotaryTable + int64_t{a.selfPhaseIndex[q]} * d;
      for (int e = lane; e < d; e += 16)
        sum = fmaf(s.queries[row * g.pitch + e], keyAt<Scaled>(a, key, scale, table, e), sum);
    }
    sum = treeOverThreads(kWholeWarp, sum);
    if (wanted && lane == 0) s.scores[row * kScorePitch + part.rowsEnd] = scoreOf(a, sum);
  }
}

/// Scores -> exp(score - maximum of the block), 0 where a row sees nothing; the factors of the merge.
__device__ __forceinline__ void weighTile(const AttentionArgs& a, const AttentionPlan& p, const Tile& t,
                                          const TileShape& g, const TileShared& s, int block) {
  const int lane = static_cast<int>(threadIdx.x) & 15;
  for (int pair = static_cast<int>(threadIdx.x) / 32 * 2; pair < kTileRows; pair += kTileThreads / 16) {
    const int row = pair + (static_cast<int>(threadIdx.x) >> 4 & 1);
    const TileRow r = rowOf(t, g, row);
    const SeenPart part = r.present ? partAt(s.seen[r.query], startOf(block, p.skew)) : SeenPart();
    float* scores = s.scores + row * kScorePitch;
    float x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int j = lane + 16 * i;
      x[i] = j >= part.lo && j < part.hi ? scores[j] : -INFINITY;
    }
    const auto [best, sum] = softmaxOfBlock(x);
    if (lane == 0) s.parts[row] = part;
    if (part.empty()) continue;
    const int q = t.q0 + r.query;
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[lane + 16 * i] = x[i];
    if (q >= p.stored) {
      const int64_t at = p.keptAt(q, a.queryHeads, t.head + r.head, block);
#pragma unroll
      for (int i = 0; i < 4; ++i) p.kept[at * kKeys + lane + 16 * i] = x[i];
      if (lane == 0) p.maxima[at] = best;
    }
    if (lane != 0) continue;
    float* stats = s.stats + 4 * row;
    const float left = stats[0], leftSum = stats[1], most = left < best ? best : left;
    if (leftSum == 0.0f) {  // the first block
      stats[0] = best, stats[1] = sum, stats[2] = -1.0f, stats[3] = 1.0f;
    } else {
      const float ofLeft = expOf(left - most), ofBlock = expOf(best - most);
      stats[0] = most, stats[1] = fmaf(leftSum, ofLeft, sum * ofBlock), stats[2] = ofLeft, stats[3] = ofBlock;
    }
  }
}

/// Values of a tile in one thread: four values, four rows (two where headDim <= 64), per run of 128 values.
template <int Dim, bool Scaled>
struct TileValues {
  static constexpr int kAcross = Dim >= 128 ? 32 : Dim / 4;
  static constexpr int kRows = 4 * kAcross / 32;
  static constexpr int kRuns = Dim > 128 ? Dim / 128 : 1;

  float block[kRuns][kRows][4];
  float4 kept[kRuns][kRows];  ///< merged values, unless they wait in shared memory

  static __device__ __forceinline__ int firstRow() {
    return static_cast<int>(threadIdx.x) / 32 * 4 + static_cast<int>(threadIdx.x) % 32 / kAcross * kRows;
  }
  static __device__ __forceinline__ int firstValue() { return static_cast<int>(threadIdx.x) % 32 % kAcross * 4; }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int run = 0; run < kRuns; ++run)
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int i = 0; i < 4; ++i) block[run][r][i] = 0.0f;
  }

  __device__ __forceinline__ float4& merged(const TileShared& s, int run, int r) {
    if constexpr (mergedWidth(Dim) == 0) return kept[run][r];
    return *reinterpret_cast<float4*>(s.merged + (firstRow() + r) * mergedWidth(Dim) + firstValue());
  }

  __device__ __forceinline__ void add(int run, int r, float weight, const float4& v) {
    block[run][r][0] = fmaf(weight, v.x, block[run][r][0]);
    block[run][r][1] = fmaf(weight, v.y, block[run][r][1]);
    block[run][r][2] = fmaf(weight, v.z, block[run][r][2]);
    block[run][r][3] = fmaf(weight, v.w, block[run][r][3]);
  }

  /// Keys [first, first + Keys) of the block in ascending order; a row takes the keys that it sees.
  template <int Keys>
  __device__ __forceinline__ void addChunk(const TileShape& g, const TileShared& s, int headDim, int first) {
    const float* weights = s.scores + firstRow() * kScorePitch + first;
    int lo[kRows], end[kRows], from = Keys, to = 0;
    bool whole = true;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      lo[r] = s.parts[firstRow() + r].lo - first;
      end[r] = s.parts[firstRow() + r].rowsEnd - first;
      from = min(from, max(lo[r], 0));
      to = max(to, min(end[r], Keys));
      whole = whole && lo[r] <= 0 && end[r] >= Keys;
    }
    if (whole) return addWhole<Keys>(g, s, headDim, weights);
#pragma unroll 1
    for (int j = from; j < to; ++j) {
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int e = firstValue() + 128 * run;
        if (e >= headDim) break;
        const float4 v = wordAt<float4>(s.chunk + j * g.pitch + e);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if (j >= lo[r] && j < end[r]) add(run, r, weights[r * kScorePitch + j], v);
        }
      }
    }
  }

  __device__ __forceinline__ void addKey(int run, const float4 (&weight)[kRows], float float4::*key, const float4& v) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) add(run, r, weight[r].*key, v);
  }

  /// All keys of the chunk, four weights of a row at a time.
  template <int Keys>
  __device__ __forceinline__ void addWhole(const TileShape& g, const TileShared& s, int headDim, const float* weights) {
#pragma unroll 1
    for (int j = 0; j < Keys; j += 4) {
      float4 weight[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) weight[r] = wordAt<float4>(weights + r * kScorePitch + j);
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int e = firstValue() + 128 * run;
        if (e >= headDim) break;
        const float* from = s.chunk + j * g.pitch + e;
        addKey(run, weight, &float4::x, wordAt<float4>(from));
        addKey(run, weight, &float4::y, wordAt<float4>(from + g.pitch));
        addKey(run, weight, &float4::z, wordAt<float4>(from + 2 * g.pitch));
        addKey(run, weight, &float4::w, wordAt<float4>(from + 3 * g.pitch));
      }
    }
  }

  __device__ __forceinline__ void addSelf(const AttentionArgs& a, const AttentionPlan& p, const Tile& t,
                                          const TileShared& s, int r, int q, int at) {
    const uint8_t* record = a.pool + int64_t{a.selfSlot[q]} * p.stride;
    const uint8_t* from = record + p.vOffset + t.kvHead * a.fmt.headDim * dtypeBytes(a.fmt.v);
    const float scale = Scaled && p.vScales > 0 ? wordAt<float>(record + p.vScales + 4 * t.kvHead) : 1.0f;
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int e = firstValue() + 128 * run;
      if (e < a.fmt.headDim)
        add(run, r, s.scores[(firstRow() + r) * kScorePitch + at], quadAt<Scaled>(from, e, a.fmt.v, scale));
    }
  }

  __device__ __forceinline__ void merge(const TileShared& s, int r) {
    const float left = s.stats[4 * (firstRow() + r) + 2], scale = s.stats[4 * (firstRow() + r) + 3];
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const float* one = block[run][r];
      float4& all = merged(s, run, r);
      if (left < 0.0f) {
        all = make_float4(one[0], one[1], one[2], one[3]);
      } else {
        const float4 x = all;
        all = make_float4(fmaf(x.x, left, one[0] * scale), fmaf(x.y, left, one[1] * scale),
                          fmaf(x.z, left, one[2] * scale), fmaf(x.w, left, one[3] * scale));
      }
    }
  }

  __device__ __forceinline__ void finish(const AttentionArgs& a, const Tile& t, const TileShape& g,
                                         const TileShared& s) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const TileRow row = rowOf(t, g, firstRow() + r);
      if (!row.present) continue;
      const float* stats = s.stats + 4 * (firstRow() + r);
      const float sum = sumWithSink(a, t.head + row.head, stats[0], stats[1]);
      float* to = a.out + (t.q0 + row.query) * a.outStride + int64_t{t.head + row.head} * a.fmt.headDim;
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int e = firstValue() + 128 * run;
        if (e >= a.fmt.headDim) break;
        const bool seen = sum != 0.0f;
        const float4 x = seen ? merged(s, run, r) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        to[e] = seen ? x.x / sum : 0.0f;
        to[e + 1] = seen ? x.y / sum : 0.0f;
        to[e + 2] = seen ? x.z / sum : 0.0f;
        to[e + 3] = seen ? x.w / sum : 0.0f;
      }
    }
  }
};

/// Grid: x = tiles of queries, later ones first (they see most), y = kvHeads * headTiles. kTileThreads threads.
template <int Dim, bool Scaled>
__global__ void __launch_bounds__(kTileThreads, Dim == 128 ? 3 : 2)
    tileKernel(AttentionArgs a, AttentionPlan p, TileShape g) {
  constexpr int kChunk = tileKeys(Dim);
  const TileShared s(dynamicShared<float>(), Dim, g.pitch);
  const Tile t = tileOf(a, p, g, static_cast<int>(gridDim.x - 1 - blockIdx.x), static_cast<int>(blockIdx.y));
  using Values = TileValues<Dim, Scaled>;
  Values v;
  loadTileQueries(a, t, g, s);
  __syncthreads();
  const BlockSpan span = spanOf(s.seen, kTileRows, p.skew);
  const auto readAhead = [&](int block) {
    return readRow(a, unionAt(s.seen, kTileRows, startOf(block, p.skew)), startOf(block, p.skew));
  };
  RowAhead ahead;
  if (span.first < span.end) ahead = readAhead(span.first);
  for (int block = span.first; block < span.end; ++block) {
    const SeenPart all = unionAt(s.seen, kTileRows, startOf(block, p.skew));
    __syncthreads();  // the block before is done with
    storeRow(ahead, s);
    ahead = readAhead(block + 1);
    if (all.lo >= all.rowsEnd && !all.hasSelf()) continue;
    for (int first = 0; first < kKeys; first += kChunk) {
      __syncthreads();
      loadChunk<kChunk, Dim, Scaled>(a, p, t, g, s, first, false);
      __syncthreads();
      scoreChunk<kChunk>(a, g, s, first);
    }
    __syncthreads();
    if (all.hasSelf()) {
      scoreSelf<Scaled>(a, p, t, g, s, startOf(block, p.skew));
      __syncthreads();
    }
    weighTile(a, p, t, g, s, block);
    v.clear();
    for (int first = 0; first < kKeys; first += kChunk) {
      __syncthreads();
      loadChunk<kChunk, Dim, Scaled>(a, p, t, g, s, first, true);
      __syncthreads();
      v.template addChunk<kChunk>(g, s, a.fmt.headDim, first);
    }
#pragma unroll
    for (int r = 0; r < Values::kRows; ++r) {
      const SeenPart part = s.parts[Values::firstRow() + r];
      if (part.empty()) continue;
      if (part.hasSelf()) v.addSelf(a, p, t, s, r, t.q0 + g.headsOf.quotient(Values::firstRow() + r), part.rowsEnd);
      v.merge(s, r);
    }
  }
  __syncthreads();
  v.finish(a, t, g, s);
  const int row = static_cast<int>(threadIdx.x);
  if (row >= kTileRows) return;
  const TileRow r = rowOf(t, g, row);
  if (!r.present || t.q0 + r.query < p.stored) return;
  const int head = t.head + r.head;
  const float most = s.stats[4 * row], sum = s.stats[4 * row + 1];
  p.finals[int64_t{t.q0 + r.query - p.stored} * a.queryHeads + head] = {most, sumWithSink(a, head, most, sum)};
}

}  // namespace kvlab::kernels::cuda
