// SPDX-License-Identifier: Apache-2.0
// Attention of many queries on tensor cores, for "cuda-fast" (fast.h says how near it is): a block of threads takes a
// tile of kMmaRows rows, 16 a warp, and walks the key blocks that any of its queries sees.
//
// Queries are rounded once and stay in registers, as do scores, probabilities and the values that they add up. Keys
// and values of a block lie in shared memory as they are stored; each warp rotates and rounds 16 keys there. Copies
// of values are under way while scores are computed, copies of the next keys while values are added. Exponentials
// are powers of two relative to the largest score so far. An instance for every head rounded up to 16 values (Dim).
#pragma once

#include "kernels/cuda/attention/attention_math.h"
#include "kernels/cuda/attention/attention_rows.h"
#include "kernels/cuda/runtime/async_copy.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/mma.h"

namespace kvlab::kernels::cuda {

inline constexpr int kMmaRows = 64;
inline constexpr int kMmaThreads = 128;
inline constexpr float kLog2E = 0x1.715476p+0f, kLn2 = 0x1.62e43p-1f;
static_assert(kMmaThreads / 32 * 16 == kMmaRows && kMmaRows == kKeys);

template <int Dim>
struct MmaShared {
  static constexpr int kPitch = mmaPitch(Dim);
  static constexpr int64_t kBytes = 2 * kKeys * kPitch * 2 + kMmaRows * 12 + 4 * kKeys * 4;

  uint16_t *k, *v;          ///< [64, pitch]
  Seen* seen;               ///< [kMmaRows] ranges of the tile's queries; empty where there is none
  int32_t *slots, *phases;  ///< [2][64] for this block and the next

  explicit __device__ MmaShared(uint16_t* memory) {
    k = memory;
    v = k + kKeys * kPitch;
    seen = reinterpret_cast<Seen*>(v + kKeys * kPitch);
    slots = reinterpret_cast<int32_t*>(seen + kMmaRows);
    phases = slots + 2 * kKeys;
  }
};

/// Calls fn(row, piece) for the eighths of a head of the 16 rows of this warp.
template <class Fn>
__device__ __forceinline__ void forPieces(const TileShape& g, int headDim, const Fn& fn) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x) % 32; i < 2 * headDim; i += 32)
    fn(16 * warp + g.quadsOf.quotient(i), g.quadsOf.rest(i));
}

/// Starts copies of a block of K or V, which begins at `from` in a record; rows that nobody sees become 0.
template <int Dim>
__device__ __forceinline__ void copyRows(const AttentionArgs& a, const AttentionPlan& p, const TileShape& g,
                                         const int32_t* slots, const uint8_t* from, uint16_t* to) {
  forPieces(g, a.fmt.headDim, [&](int row, int piece) {
    const int slot = slots[row];
    copyAsync16(to + row * mmaPitch(Dim) + 8 * piece, from + (slot < 0 ? 0 : int64_t{slot} * p.stride + 16 * piece),
                slot < 0 ? 0 : 16);
  });
  commitCopies();
}

/// The keys of this warp, in place.
template <DType T, int Dim>
__device__ __forceinline__ void rotateKeys(const AttentionArgs& a, const TileShape& g, const int32_t* phases,
                                           uint16_t* keys) {
  const int half = a.fmt.headDim / 2;
  forPieces(g, a.fmt.headDim, [&](int row, int piece) {
    const float* table = a.rotaryTable + int64_t{phases[row]} * a.fmt.headDim + 4 * piece;
    const float4 c = wordAt<float4>(table), n = wordAt<float4>(table + half);
    auto* low = reinterpret_cast<uint2*>(keys + row * mmaPitch(Dim) + 4 * piece);
    auto* high = reinterpret_cast<uint2*>(keys + row * mmaPitch(Dim) + 4 * piece + half);
    const uint2 lows = wordAt<uint2>(low), highs = wordAt<uint2>(high);
    const float2 x = pairOf<T>(lows.x), y = pairOf<T>(lows.y), u = pairOf<T>(highs.x), w = pairOf<T>(highs.y);
    *low = make_uint2(roundedPair<T>(rotatedLow(x.x, u.x, c.x, n.x), rotatedLow(x.y, u.y, c.y, n.y)),
                      roundedPair<T>(rotatedLow(y.x, w.x, c.z, n.z), rotatedLow(y.y, w.y, c.w, n.w)));
    *high = make_uint2(roundedPair<T>(rotatedHigh(x.x, u.x, c.x, n.x), rotatedHigh(x.y, u.y, c.y, n.y)),
                       roundedPair<T>(rotatedHigh(y.x, w.x, c.z, n.z), rotatedHigh(y.y, w.y, c.w, n.w)));
  });
}

/// The 16 rows of a warp; a thread has two of them, g = lane / 4 and g + 8, as mma.h says.
template <DType T, int Dim>
class MmaTile {
 public:
  __device__ __forceinline__ MmaTile(const AttentionArgs& args, const AttentionPlan& plan, const Tile& t,
                                     const TileShape& g)
      : a(args), p(plan) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const TileRow row = rowOf(t, g, static_cast<int>(threadIdx.x) / 32 * 16 + lane() / 4 + 8 * r);
      m_query[r] = row.present ? t.q0 + row.query : -1;
      m_head[r] = t.head + row.head;
      m_seen[r] = row.present ? seenRange(a.rowBegin[m_query[r]], a.rowEnd[m_query[r]], false) : Seen();
      loadQuery(r);
    }
#pragma unroll
    for (int n = 0; n < Dim / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) m_out[n][i] = 0.0f;
  }

  /// Somebody of the warp sees a row of this block.
  __device__ __forceinline__ bool sees(int start) const {
    return __any_sync(kWholeWarp, !partAt(m_seen[0], start).empty() || !partAt(m_seen[1], start).empty());
  }

  /// Computes the scores with the keys of a block and their weights; a larger maximum rescales the sums so far.
  __device__ __forceinline__ void weigh(const uint16_t* keys, int block) {
    float x[kKeys / 8][4] = {};
    const uint16_t* from = keys + (lane() / 16 * 8 + lane() % 8) * kPitch + lane() / 8 % 2 * 8;
#pragma unroll
    for (int step = 0; step < Dim / 16; ++step) {
#pragma unroll
      for (int n = 0; n < kKeys / 8; n += 2) {
        uint32_t b[4];
        loadMatrices<false>(b, from + 8 * n * kPitch + 16 * step);
        addProduct<T>(x[n], m_q[step], b[0], b[1]);
        addProduct<T>(x[n + 1], m_q[step], b[2], b[3]);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) weighRow(x, r, block);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
      m_weights[n / 2][n % 2 * 2] = roundedPair<T>(x[n][0], x[n][1]);
      m_weights[n / 2][n % 2 * 2 + 1] = roundedPair<T>(x[n][2], x[n][3]);
    }
  }

  __device__ __forceinline__ void addValues(const uint16_t* values) {
    __syncwarp();  // copies may have parted its lanes
    const uint16_t* from = values + lane() % 16 * kPitch + lane() / 16 * 8;
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step)
#pragma unroll
      for (int n = 0; n < Dim / 8; n += 2) {
        uint32_t b[4];
        loadMatrices<true>(b, from + 16 * step * kPitch + 8 * n);
        addProduct<T>(m_out[n], m_weights[step], b[0], b[1]);
        addProduct<T>(m_out[n + 1], m_weights[step], b[2], b[3]);
      }
  }

  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float sum = m_sum[r] + __shfl_xor_sync(kWholeWarp, m_sum[r], 1);
      sum = sum + __shfl_xor_sync(kWholeWarp, sum, 2);
      if (m_query[r] < 0) continue;
      sum = sumWithSink(a, m_head[r], m_max[r] * kLn2, sum);
      float* to = a.out + m_query[r] * a.outStride + int64_t{m_head[r]} * a.fmt.headDim + lane() % 4 * 2;
#pragma unroll
      for (int n = 0; n < Dim / 8; ++n) {
        if (8 * n >= a.fmt.headDim) break;
#pragma unroll
        for (int i = 0; i < 2; ++i) to[8 * n + i] = sum == 0.0f ? 0.0f : m_out[n][2 * r + i] / sum;
      }
      if (m_query[r] < p.stored || lane() % 4 != 0) continue;
      p.finals[int64_t{m_query[r] - p.stored} * a.queryHeads + m_head[r]] = {m_max[r] * kLn2, sum};
    }
  }

 private:
  static constexpr int kPitch = mmaPitch(Dim);

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }

  __device__ __forceinline__ void loadQuery(int r) {
    const float* from = a.queries + m_query[r] * a.queryStride + int64_t{m_head[r]} * a.fmt.headDim;
#pragma unroll
    for (int step = 0; step < Dim / 16; ++step)
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const int e = 16 * step + 8 * side + lane() % 4 * 2;
        const bool there = m_query[r] >= 0 && e < a.fmt.headDim;
        m_q[step][2 * side + r] = there ? roundedPair<T>(from[e], from[e + 1]) : 0;
      }
  }

  __device__ __forceinline__ void weighRow(float (&x)[kKeys / 8][4], int r, int block) {
    const SeenPart part = partAt(m_seen[r], startOf(block, p.skew));
    const float scale = a.cap == 0.0f ? a.scale * kLog2E : kLog2E;
    float most = m_max[r];
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int key = 8 * n + lane() % 4 * 2 + i;
        float& score = x[n][2 * r + i];
        if (a.cap != 0.0f) score = scoreOf(a, score);
        score = key >= part.lo && key < part.hi ? score * scale : -INFINITY;
        most = fmaxf(most, score);
      }
    most = fmaxf(most, __shfl_xor_sync(kWholeWarp, most, 1));
    most = fmaxf(most, __shfl_xor_sync(kWholeWarp, most, 2));
    const float base = most == -INFINITY ? 0.0f : most, left = powerOfTwo(m_max[r] - base);
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& score = x[n][2 * r + i];
        score = powerOfTwo(score - base);
        sum = sum + score;
      }
    m_sum[r] = fmaf(m_sum[r], left, sum);
    m_max[r] = most;
#pragma unroll
    for (int n = 0; n < Dim / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) m_out[n][2 * r + i] = m_out[n][2 * r + i] * left;
    if (m_query[r] >= p.stored && !part.empty()) keep(x, r, block);
  }

  /// Keeps the inputs of masses: exponentials, and the maximum that they are relative to.
  __device__ __forceinline__ void keep(const float (&x)[kKeys / 8][4], int r, int block) const {
    const int64_t at = p.keptAt(m_query[r], a.queryHeads, m_head[r], block);
    auto* to = reinterpret_cast<float2*>(p.kept + at * kKeys) + lane() % 4;
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) to[4 * n] = make_float2(x[n][2 * r], x[n][2 * r + 1]);
    if (lane() % 4 == 0) p.maxima[at] = m_max[r] * kLn2;
  }

  const AttentionArgs& a;
  const AttentionPlan& p;
  int m_query[2], m_head[2];  ///< query -1: an absent row
  Seen m_seen[2];
  float m_max[2] = {-INFINITY, -INFINITY},
        m_sum[2] = {0.0f, 0.0f};  ///< maximum: an exponent of 2; sum: over this thread's keys
  uint32_t m_q[Dim / 16][4], m_weights[kKeys / 16][4];
  float m_out[Dim / 8][4];
};

/// Stores the ranges that the queries see, and zeros behind heads that 16 does not divide.
template <int Dim>
__device__ __forceinline__ void prepareMma(const AttentionArgs& a, const Tile& t, const MmaShared<Dim>& s) {
  const int thread = static_cast<int>(threadIdx.x), q = t.q0 + thread;
  if (thread < kMmaRows) s.seen[thread] = thread < t.queries ? seenRange(a.rowBegin[q], a.rowEnd[q], false) : Seen();
  if (a.fmt.headDim % 16 != 0)
    *reinterpret_cast<uint4*>(s.k + thread * s.kPitch + a.fmt.headDim) = make_uint4(0, 0, 0, 0);  // s.v follows
}

/// Grid: x = tiles of queries, later ones first (they see most), y = kvHeads * headTiles. kMmaThreads threads.
template <DType T, int Dim>
__global__ void __launch_bounds__(kMmaThreads, Dim > 96 ? 2 : 3)
    mmaKernel(AttentionArgs a, AttentionPlan p, TileShape g) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  const MmaShared<Dim> s(dynamicShared<uint16_t>());
  const Tile t = tileOf(a, p, g, static_cast<int>(gridDim.x - 1 - blockIdx.x), static_cast<int>(blockIdx.y));
  const uint8_t* keys = a.pool + p.kOffset + t.kvHead * a.fmt.headDim * 2;
  const uint8_t* values = a.pool + p.vOffset + t.kvHead * a.fmt.headDim * 2;
  MmaTile<T, Dim> tile(a, p, t, g);
  prepareMma(a, t, s);
  __syncthreads();
  const BlockSpan span = spanOf(s.seen, kMmaRows, p.skew);
  SeenPart all;
  const auto seenFrom = [&](int block) {  // the next block of which a row is seen
    for (; block < span.end; ++block)
      if (all = unionAt(s.seen, kMmaRows, startOf(block, p.skew)); !all.empty()) break;
    return block;
  };
  const auto storeRow = [&](const RowAhead& row, int turn) {
    const int at = static_cast<int>(threadIdx.x);
    if (at < kKeys) s.slots[turn * kKeys + at] = row.slot, s.phases[turn * kKeys + at] = row.phase;
  };
  int block = seenFrom(span.first);
  if (block < span.end) storeRow(readRow(a, all, startOf(block, p.skew)), 0);
  __syncthreads();
  if (block < span.end) copyRows<Dim>(a, p, g, s.slots, keys, s.k);
  for (int turn = 0; block < span.end; turn ^= 1) {
    waitCopies<0>();
    __syncwarp();  // a warp rotates the keys that it has copied
    if (!a.keysRotated) rotateKeys<T, Dim>(a, g, s.phases + turn * kKeys, s.k);
    __syncthreads();  // keys are there, values of the block before are done with
    copyRows<Dim>(a, p, g, s.slots + turn * kKeys, values, s.v);
    const int next = seenFrom(block + 1);
    const RowAhead ahead = next < span.end ? readRow(a, all, startOf(next, p.skew)) : RowAhead();
    const bool sees = tile.sees(startOf(block, p.skew));
    if (sees) tile.weigh(s.k, block);
    storeRow(ahead, turn ^ 1);
    waitCopies<0>();
    __syncthreads();  // values are there, keys are done with
    if (next < span.end) copyRows<Dim>(a, p, g, s.slots + (turn ^ 1) * kKeys, keys, s.k);
    if (sees) tile.addValues(s.v);
    block = next;
  }
  tile.finish();
#endif
}

/// For heads of Dim values, or up to 15 less.
template <int Dim>
int32_t startMma(void* stream, const AttentionArgs& a, const AttentionPlan& p, const Grid& grid, const TileShape& g) {
  const auto kernel = a.fmt.k == DType::f16 ? &mmaKernel<DType::f16, Dim> : &mmaKernel<DType::bf16, Dim>;
  return launch(kernel, grid, kMmaThreads, MmaShared<Dim>::kBytes, stream, a, p, g);
}

}  // namespace kvlab::kernels::cuda
