// SPDX-License-Identifier: Apache-2.0
// Attention of few queries on a device: a warp takes one block of keys of one KV head for up to Rows query
// heads of its group and leaves (maximum, sum, values) of that block alone; attention_merge.cu merges.
//
// No warp waits for another. It walks blocks far apart, and its rows come through a ring of kRing stages of about
// 4 KiB, K then V of each block, always three stages ahead: the first bytes of the next block are on their way
// while this one is weighed. A key is read by eight lanes, two of the 16 virtual lanes each, whose query values
// stay in registers; a value by the lane that owns it. The warps of a block of threads take the same keys of
// neighbouring KV heads: the angles of a row, as many bytes as its 16-bit key and value of one head, come out of
// the second-level cache once for all of them, and records are read in long pieces.
#pragma once

#include "kernels/cuda/attention/attention_index.h"
#include "kernels/cuda/attention/attention_math.h"
#include "kernels/cuda/runtime/async_copy.h"
#include "kernels/cuda/runtime/launch.h"

namespace kvlab::kernels::cuda {

__device__ __forceinline__ int laneOf() { return static_cast<int>(threadIdx.x) & 31; }
__device__ __forceinline__ int warpOf() { return static_cast<int>(threadIdx.x) >> 5; }

/// The layout of one matrix's rows in a stage, and the way in which a warp copies them.
struct StageRows {
  int pitch = 0;        ///< bytes
  int headBytes = 0;    ///< bytes of a row of one head; with a scale, a head may start 8 bytes behind a multiple of 16
  int pieces = 1;       ///< pieces of 16 bytes in a row
  SmallDivisor across;  ///< lanes at one row
  int atOnce = 1;       ///< rows
};

/// Values that all warps of a launch share.
struct SplitShape {
  int rowsPerStage = kKeys, stageBytes = 0;
  int scalesAt = 0;  ///< in a stage: a f32 for each row, behind the rows
  StageRows k, v;
  int headTile = 1, headTiles = 1;  ///< query heads of a warp; warps for a group
  int warps = 1, headSets = 1;      ///< KV heads of a block of threads; blocks of threads for all of them
  int strides = 1;                  ///< warps that share the blocks of a KV head
};

/// The work of a warp: a query and a KV head.
struct SplitTask {
  int query, kvHead, head, heads;  ///< head: the first of `heads` query heads
  Seen seen;
  BlockSpan span;
  int skew;

  __device__ __forceinline__ SeenPart part(int block) const { return partAt(seen, startOf(block, skew)); }
};

/// One word for each row of a block; lane i holds the words of rows i and i + 32.
struct RowWords {
  int32_t low = 0, high = 0;

  __device__ __forceinline__ int32_t of(int row) const {
    const int32_t first = __shfl_sync(kWholeWarp, low, row & 31), second = __shfl_sync(kWholeWarp, high, row & 31);
    return row & 32 ? second : first;
  }
};

__device__ __forceinline__ int32_t rowWord(const SplitTask& t, const SeenPart& part, int block, int row,
                                           const int32_t* perRow, const int32_t* perQuery) {
  if (row < part.lo || row >= part.hi) return 0;
  return row < part.rowsEnd ? perRow[startOf(block, t.skew) + row] : perQuery[t.query];
}

/// perRow [rows] is read where the block is seen, perQuery [nQueries] for the self row.
__device__ __forceinline__ RowWords wordsOf(const SplitTask& t, int block, const int32_t* perRow,
                                            const int32_t* perQuery) {
  if (block >= t.span.end || !perRow) return {};
  const SeenPart part = t.part(block);
  const int lane = laneOf();
  return {rowWord(t, part, block, lane, perRow, perQuery), rowWord(t, part, block, lane + 32, perRow, perQuery)};
}

/// The side that fetches: a position in the sequence of stages, ahead of the side that computes.
struct StageReader {
  int block, stage;  ///< first all of K of a block, then all of V
  int lo, hi;        ///< rows seen
  RowWords slots, nextSlots;
  uint64_t policy;  ///< cache policy of the copies
};

/// As many rows at once as fit into a warp, a piece of 16 bytes a lane; `scales` is null for types without.
template <bool Scaled>
__device__ __forceinline__ void copyRows(const SplitShape& g, const StageReader& r, int firstRow, const StageRows& rows,
                                         const uint8_t* from, [[maybe_unused]] const uint8_t* scales, int stride,
                                         uint8_t* to) {
  const int lane = laneOf(), mine = rows.across.quotient(lane), first = rows.across.rest(lane);
  for (int at = 0; at < g.rowsPerStage; at += rows.atOnce) {
    const int inStage = at + mine, row = firstRow + inStage;
    const int32_t slot = r.slots.of(row);
    if (mine >= rows.atOnce || inStage >= g.rowsPerStage || row < r.lo || row >= r.hi) continue;
    const uint8_t* record = from + int64_t{slot} * stride;
    for (int piece = first; piece < rows.pieces; piece += 32)
      copyPassing16(to + inStage * rows.pitch + piece * 16, record + piece * 16, r.policy);
    if constexpr (Scaled) {
      if (scales && first == 0) copyAsync4(to + g.scalesAt + 4 * inStage, scales + int64_t{slot} * stride);
    }
  }
}

template <bool Scaled>
__device__ __forceinline__ void copyStage(const AttentionArgs& a, const AttentionPlan& p, const SplitShape& g,
                                          const SplitTask& t, const StageReader& r, uint8_t* to) {
  const int stages = kKeys / g.rowsPerStage;
  const bool values = r.stage >= stages;
  const StageRows rows = values ? g.v : g.k;
  const int head = t.kvHead * rows.headBytes, scales = values ? p.vScales : p.kScales;
  const uint8_t* from = a.pool + (values ? p.vOffset : p.kOffset) + (Scaled ? head & ~15 : head);
  copyRows<Scaled>(g, r, (values ? r.stage - stages : r.stage) * g.rowsPerStage, rows, from,
                   scales > 0 ? a.pool + scales + 4 * t.kvHead : nullptr, p.stride, to);
}

__device__ __forceinline__ void seeBlock(const SplitTask& t, StageReader& r) {
  const SeenPart part = t.part(r.block);
  r.stage = 0;
  r.lo = part.lo;
  r.hi = part.hi;
}

/// Fetches the next stage and steps on; past the last block an empty group keeps the count.
template <bool Scaled>
__device__ __forceinline__ void fetchStage(const AttentionArgs& a, const AttentionPlan& p, const SplitShape& g,
                                           const SplitTask& t, StageReader& r, uint8_t* to) {
  if (r.block < t.span.end) copyStage<Scaled>(a, p, g, t, r, to);
  commitCopies();
  if (++r.stage < 2 * (kKeys / g.rowsPerStage)) return;
  r.block += g.strides;
  seeBlock(t, r);
  r.slots = r.nextSlots;
  r.nextSlots = wordsOf(t, r.block + g.strides, a.slots, a.selfSlot);
}

/// Values e, e + 1 of a stored key, rotated.
template <DType T>
__device__ __forceinline__ float2 rotatedPair(const uint8_t* key, float factor, const float* table, int e,
                                              int headDim) {
  const int half = headDim / 2;
  const bool low = e < half;
  const int at = low ? e : e - half;
  const float2 lo = pairAt<T>(key, at, factor), hi = pairAt<T>(key, at + half, factor), c = wordAt<float2>(table + at),
               n = wordAt<float2>(table + half + at);
  if (low) return make_float2(rotatedLow(lo.x, hi.x, c.x, n.x), rotatedLow(lo.y, hi.y, c.y, n.y));
  return make_float2(rotatedHigh(lo.x, hi.x, c.x, n.x), rotatedHigh(lo.y, hi.y, c.y, n.y));
}

/// The addresses of a stage's rows and their scales. The scales of a head that does not start at a border of 16 bytes
/// begin in the middle of a piece.
struct StageView {
  const uint8_t* rows;
  const uint8_t* scales;

  template <DType T>
  __device__ __forceinline__ float factor(int row) const {
    if constexpr (!dtypeHasScale(T)) return 1.0f;
    else return factorOf<T>(wordAt<float>(scales + 4 * row));
  }
};

template <bool Scaled>
__device__ __forceinline__ StageView viewOf(const SplitShape& g, const StageRows& rows, int kvHead,
                                            const uint8_t* stage) {
  return {stage + (Scaled ? (kvHead * rows.headBytes) & 15 : 0), stage + g.scalesAt};
}

/// One warp's share: Rows query heads (a power of two) by headDim <= Dim; types with a scale only where Scaled.
template <int Rows, int Dim, bool Scaled>
struct SplitWarp {
  static constexpr int kSteps = Dim / 16;
  static constexpr int kLanesAcross = Dim >= 128 ? 32 : Dim / 4;  ///< lanes that own four values each
  static constexpr int kValueRows = Rows * kLanesAcross / 32 > 0 ? Rows* kLanesAcross / 32 : 1;
  static constexpr int kRuns = Dim > 128 ? Dim / 128 : 1;    ///< runs of 128 values
  static constexpr bool kAhead = Rows * Dim * kRuns <= 512;  ///< registers are left for angles read ahead

  float query[kSteps][Rows][2];
  float2 cosine[kSteps / 2], sine[kSteps / 2];  ///< angles of the next four keys, where they are read ahead
  float values[kRuns][kValueRows][4];

  __device__ __forceinline__ void loadQueries(const AttentionArgs& a, const SplitTask& task) {
    const int t = laneOf() & 7;
    const float* from = a.queries + task.query * a.queryStride + task.head * a.fmt.headDim;
#pragma unroll
    for (int i = 0; i < kSteps; ++i)
#pragma unroll
      for (int r = 0; r < Rows; ++r)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int e = 16 * i + 2 * t + c;
          query[i][r][c] = r < task.heads && e < a.fmt.headDim ? from[r * a.fmt.headDim + e] : 0.0f;
        }
  }

  static __device__ __forceinline__ int lanePair() { return laneOf() & 7; }
  static __device__ __forceinline__ int laneKey() { return laneOf() >> 3; }

  __device__ __forceinline__ void addKey(const float2& k, int step, float (&sums)[Rows][2]) const {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      sums[r][0] = fmaf(query[step][r][0], k.x, sums[r][0]);
      sums[r][1] = fmaf(query[step][r][1], k.y, sums[r][1]);
    }
  }

  __device__ __forceinline__ void loadAngle(const float* table, int step) {
    cosine[step] = wordAt<float2>(table + 16 * step + 2 * lanePair());
    sine[step] = wordAt<float2>(table + Dim / 2 + 16 * step + 2 * lanePair());
  }

  /// The angles of this lane's key in the four keys from `row` on.
  __device__ __forceinline__ const float* tableOf(const AttentionArgs& a, const RowWords& phases, int row) const {
    return a.rotaryTable + int64_t{phases.of((row + laneKey()) & (kKeys - 1))} * a.fmt.headDim;
  }

  static __device__ __forceinline__ bool readsAhead(const AttentionArgs& a) {
    return kAhead && !a.keysRotated && a.fmt.headDim == Dim;
  }

  __device__ __forceinline__ void loadAngles(const AttentionArgs& a, const RowWords& phases, int row) {
    const float* table = tableOf(a, phases, row);
#pragma unroll
    for (int i = 0; i < kSteps / 2; ++i) loadAngle(table, i);
  }

  /// One key as it is stored.
  template <DType T>
  __device__ __forceinline__ void addPlain(const uint8_t* key, float factor, int headDim,
                                           float (&sums)[Rows][2]) const {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int e = 16 * i + 2 * lanePair();
      if (e < headDim) addKey(pairAt<T>(key, e, factor), i, sums);
    }
  }

  /// Adds one key, rotated. If headDim is not Dim, values half a head apart may lie in different lanes.
  template <DType T>
  __device__ __forceinline__ void addRotated(const uint8_t* key, float factor, const float* table, int headDim,
                                             float (&sums)[Rows][2]) const {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int e = 16 * i + 2 * lanePair();
      if (e < headDim) addKey(rotatedPair<T>(key, factor, table, e, headDim), i, sums);
    }
  }

  /// headDim == Dim: a lane holds both halves. Every angle makes room for that of the next four keys.
  template <DType T>
  __device__ __forceinline__ void addHalves(const uint8_t* key, float factor, const float* nextTable,
                                            float (&sums)[Rows][2]) {
    float2 high[kSteps / 2];
#pragma unroll
    for (int i = 0; i < kSteps / 2; ++i) {
      const int e = 16 * i + 2 * lanePair();
      const float2 lo = pairAt<T>(key, e, factor), hi = pairAt<T>(key, e + Dim / 2, factor), c = cosine[i], n = sine[i];
      loadAngle(nextTable, i);
      high[i] = make_float2(rotatedHigh(lo.x, hi.x, c.x, n.x), rotatedHigh(lo.y, hi.y, c.y, n.y));
      addKey(make_float2(rotatedLow(lo.x, hi.x, c.x, n.x), rotatedLow(lo.y, hi.y, c.y, n.y)), i, sums);
    }
#pragma unroll
    for (int i = 0; i < kSteps / 2; ++i) addKey(high[i], i + kSteps / 2, sums);
  }

  /// Four keys at a time, eight lanes for each. scores [64][Rows].
  template <DType T>
  __device__ __forceinline__ void scoreStage(const AttentionArgs& a, const SplitShape& g, const SeenPart& part,
                                             const RowWords& phases, int firstRow, const StageView& stage,
                                             float* scores) {
#pragma unroll 1
    for (int at = 0; at < g.rowsPerStage; at += 4) {
      const int first = firstRow + at;
      const bool seen = first + 4 > part.lo && first < part.hi;
      const uint8_t* key = stage.rows + (at + laneKey()) * g.k.pitch;
      const float factor = stage.factor<T>(at + laneKey());
      float sums[Rows][2] = {};
      if (a.keysRotated) {
        if (seen) addPlain<T>(key, factor, a.fmt.headDim, sums);
      } else if (readsAhead(a)) {
        addHalves<T>(key, factor, tableOf(a, phases, first + 4), sums);
      } else {
        const float* table = tableOf(a, phases, first);
        if (seen) addRotated<T>(key, factor, table, a.fmt.headDim, sums);
      }
      if (!seen) continue;
      const float score = scoreOf(a, foldLanes<Rows>(sums, lanePair()));
      if (Rows >= 8 || lanePair() % (8 / Rows) == 0)
        scores[(first + laneKey()) * Rows + foldedRow(Rows, lanePair())] = score;
    }
  }

  __device__ __forceinline__ void scoreStage(const AttentionArgs& a, const SplitShape& g, const SeenPart& part,
                                             const RowWords& phases, int firstRow, const StageView& stage,
                                             float* scores) {
    withRowType<Scaled>(a.fmt.k, [&](auto t) { scoreStage<t()>(a, g, part, phases, firstRow, stage, scores); });
  }

  /// scores [64][Rows] -> exp(score - maximum), 0 outside the part; half a warp per query head.
  __device__ __forceinline__ void weigh(const AttentionArgs& a, const AttentionPlan& p, const SplitTask& t,
                                        const SeenPart& part, int block, float* scores) {
    const int lane = laneOf() & 15;
    for (int pair = 0; pair < t.heads; pair += 2) {
      const int r = pair + (laneOf() >> 4);
      const bool mine = r < t.heads;
      float x[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = lane + 16 * i;
        x[i] = mine && j >= part.lo && j < part.hi ? scores[j * Rows + r] : -INFINITY;
      }
      const auto [best, sum] = softmaxOfBlock(x);
      if (!mine) continue;
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[(lane + 16 * i) * Rows + r] = x[i];
      if (lane == 0) p.states[p.stateAt(t.query, a.queryHeads, t.head + r, block)] = {best, sum};
      if (t.query >= p.stored) keep(p, p.keptAt(t.query, a.queryHeads, t.head + r, block), x, best, lane);
    }
  }

  static __device__ __forceinline__ void keep(const AttentionPlan& p, int64_t at, const float (&x)[4], float best,
                                              int lane) {
#pragma unroll
    for (int i = 0; i < 4; ++i) p.kept[at * kKeys + lane + 16 * i] = x[i];
    if (lane == 0) p.maxima[at] = best;
  }

  static __device__ __forceinline__ void loadWeights(const float* from, float (&to)[kValueRows]) {
    if constexpr (kValueRows % 4 == 0) {
#pragma unroll
      for (int r = 0; r < kValueRows; r += 4) {
        const float4 w = wordAt<float4>(from + r);
        to[r] = w.x, to[r + 1] = w.y, to[r + 2] = w.z, to[r + 3] = w.w;
      }
    } else {
#pragma unroll
      for (int r = 0; r < kValueRows; ++r) to[r] = from[r];
    }
  }

  template <DType T>
  __device__ __forceinline__ void addStage(const SplitShape& g, int headDim, const SeenPart& part, int firstRow,
                                           const StageView& stage, const float* weights) {
    const int across = laneOf() % kLanesAcross, firstHead = laneOf() / kLanesAcross * kValueRows;
    const int from = part.lo > firstRow ? part.lo - firstRow : 0;
    const int to = part.hi - firstRow < g.rowsPerStage ? part.hi - firstRow : g.rowsPerStage;
    if (firstHead >= Rows) return;
#pragma unroll 4
    for (int at = from; at < to; ++at) {
      float weight[kValueRows];
      loadWeights(weights + (firstRow + at) * Rows + firstHead, weight);
      const float factor = stage.factor<T>(at);
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int e = 4 * across + 128 * run;
        if (e >= headDim) break;
        const float4 v = quadAt<T>(stage.rows + at * g.v.pitch, e, factor);
#pragma unroll
        for (int r = 0; r < kValueRows; ++r) {
          values[run][r][0] = fmaf(weight[r], v.x, values[run][r][0]);
          values[run][r][1] = fmaf(weight[r], v.y, values[run][r][1]);
          values[run][r][2] = fmaf(weight[r], v.z, values[run][r][2]);
          values[run][r][3] = fmaf(weight[r], v.w, values[run][r][3]);
        }
      }
    }
  }

  __device__ __forceinline__ void addStage(const AttentionArgs& a, const SplitShape& g, const SeenPart& part,
                                           int firstRow, const StageView& stage, const float* weights) {
    withRowType<Scaled>(a.fmt.v, [&](auto t) { addStage<t()>(g, a.fmt.headDim, part, firstRow, stage, weights); });
  }

  __device__ __forceinline__ void clearValues() {
#pragma unroll
    for (int run = 0; run < kRuns; ++run)
#pragma unroll
      for (int r = 0; r < kValueRows; ++r)
#pragma unroll
        for (int i = 0; i < 4; ++i) values[run][r][i] = 0.0f;
  }

  __device__ __forceinline__ void storeValues(const AttentionArgs& a, const AttentionPlan& p, const SplitTask& t,
                                              int block) const {
    const int across = laneOf() % kLanesAcross, firstHead = laneOf() / kLanesAcross * kValueRows;
#pragma unroll
    for (int r = 0; r < kValueRows; ++r) {
      if (firstHead + r >= t.heads) break;
      float* to = p.values + p.stateAt(t.query, a.queryHeads, t.head + firstHead + r, block) * a.fmt.headDim;
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int e = 4 * across + 128 * run;
        const float* v = values[run][r];
        if (e < a.fmt.headDim) *reinterpret_cast<float4*>(to + e) = make_float4(v[0], v[1], v[2], v[3]);
      }
    }
  }
};

__device__ __forceinline__ SplitTask taskOf(const AttentionArgs& a, const AttentionPlan& p, const SplitShape& g) {
  SplitTask t;
  t.query = static_cast<int>(blockIdx.y) / g.headTiles;
  t.kvHead = static_cast<int>(blockIdx.x) % g.headSets * g.warps + warpOf();
  const int firstHead = static_cast<int>(blockIdx.y) % g.headTiles * g.headTile;
  t.head = t.kvHead * p.group + firstHead;
  t.heads = p.group - firstHead < g.headTile ? p.group - firstHead : g.headTile;
  t.seen = seenRange(a.rowBegin[t.query], a.rowEnd[t.query], a.selfSlot && a.selfSlot[t.query] >= 0);
  t.span = blocksOf(t.seen, p.skew);
  t.skew = p.skew;
  return t;
}

inline constexpr int kBusy = 8;        ///< warps of a multiprocessor that keep it busy
inline constexpr int kSplitWarps = 8;  ///< most warps of a block of threads

/// Memory of one warp: the ring, then scores [64][rows].
KVLAB_HD constexpr int warpBytes(int stageBytes, int rows) { return kRing * stageBytes + kKeys * rows * 4; }

/// Grid: x = strides * headSets, head sets fastest; y = nQueries * headTiles. 32 * warps threads.
template <int Rows, int Dim, bool Scaled>
__global__ void __launch_bounds__(32 * kSplitWarps, 1) splitKernel(AttentionArgs a, AttentionPlan p, SplitShape g) {
  uint8_t* ring = dynamicShared<uint8_t>() + warpOf() * warpBytes(g.stageBytes, Rows);
  auto* scores = reinterpret_cast<float*>(ring + kRing * g.stageBytes);
  const SplitTask t = taskOf(a, p, g);
  const int stages = kKeys / g.rowsPerStage;
  int block = t.span.first + static_cast<int>(blockIdx.x) / g.headSets, stage = 1 - kRing;  // below 0 the ring fills
  if (block >= t.span.end) return;
  StageReader reader;
  reader.block = block;
  reader.policy = passingPolicy();
  seeBlock(t, reader);
  reader.slots = wordsOf(t, block, a.slots, a.selfSlot);
  reader.nextSlots = wordsOf(t, block + g.strides, a.slots, a.selfSlot);
  const int32_t* perRow = a.keysRotated ? nullptr : a.phaseIndex;
  RowWords phases = wordsOf(t, block, perRow, a.selfPhaseIndex),
           nextPhases = wordsOf(t, block + g.strides, perRow, a.selfPhaseIndex);
  SeenPart part = t.part(block);
  SplitWarp<Rows, Dim, Scaled> warp;
  if (warp.readsAhead(a)) warp.loadAngles(a, phases, 0);
  warp.loadQueries(a, t);
  int fetched = 0, used = 0;
  while (block < t.span.end) {
    if (stage >= 0) {
      waitCopies<kRing - 2>();
      __syncwarp();
    }
    fetchStage<Scaled>(a, p, g, t, reader, ring + fetched++ % kRing * g.stageBytes);
    if (stage++ < 0) continue;
    const uint8_t* memory = ring + used++ % kRing * g.stageBytes;
    if (stage <= stages) {
      warp.scoreStage(a, g, part, phases, (stage - 1) * g.rowsPerStage, viewOf<Scaled>(g, g.k, t.kvHead, memory),
                      scores);
    } else {
      warp.addStage(a, g, part, (stage - 1 - stages) * g.rowsPerStage, viewOf<Scaled>(g, g.v, t.kvHead, memory),
                    scores);
    }
    if (stage == stages) {
      __syncwarp();
      warp.weigh(a, p, t, part, block, scores);
      warp.clearValues();
    }
    if (stage < 2 * stages) continue;
    warp.storeValues(a, p, t, block);
    stage = 0;
    block += g.strides;
    part = t.part(block);
    phases = nextPhases;
    if (warp.readsAhead(a)) warp.loadAngles(a, phases, 0);
    nextPhases = wordsOf(t, block + g.strides, perRow, a.selfPhaseIndex);
  }
}

/// Blocks of threads that a multiprocessor holds at once. Asks for no less shared memory than every kernel has, because
/// a launch with more than was asked for last is refused.
template <class Kernel>
int32_t occupancy(Kernel* kernel, int threads, int bytes, int& resident) {
  if (const int32_t error = prepareShared(kernel, bytes)) return error;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, static_cast<size_t>(bytes));
}

/// As many warps as the device holds at once share the blocks: more would run one after the other. A block of
/// threads takes as many KV heads as it can while a multiprocessor still holds kBusy warps.
template <int Rows, int Dim, bool Scaled>
int32_t launchSplit(void* stream, const AttentionArgs& a, const AttentionPlan& p, SplitShape g,
                    const DeviceShape& device) {
  const int bytes = warpBytes(g.stageBytes, Rows);
  int most = 0;
  for (int warps = kSplitWarps; warps > 0; warps /= 2) {
    if (a.fmt.kvHeads % warps != 0 || warps * bytes > device.sharedLimit) continue;
    int resident = 0;
    const auto error = occupancy(splitKernel<Rows, Dim, Scaled>, 32 * warps, warps * bytes, resident);
    if (error != cudaSuccess) return error;
    if (resident * warps > most) most = resident * warps, g.warps = warps;
    if (most >= kBusy) break;
  }
  if (most == 0) return cudaErrorInvalidConfiguration;
  g.headSets = a.fmt.kvHeads / g.warps;
  g.strides = stridesOf(int64_t{most} * device.multiprocessors, a.nQueries * g.headTiles * a.fmt.kvHeads, p.blocks);
  const Grid grid{int64_t{g.strides} * g.headSets, a.nQueries * g.headTiles};
  return launch(splitKernel<Rows, Dim, Scaled>, grid, 32 * g.warps, g.warps * bytes, stream, a, p, g);
}

}  // namespace kvlab::kernels::cuda
