// SPDX-License-Identifier: Apache-2.0
// Attention of heads that the other kernels do not take (takesWords()): one value at a time from any address. A block
// of threads takes a query head of one query and walks the key blocks that it sees, in order, merging as it goes: half
// a warp for each key, a thread for each value of the head. The query heads of a group read the same rows again.
#include "kernels/cuda/attention/attention_launch.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 128, kOwn = kHeadDimMax / kThreads;  // kOwn: values of a thread

/// Shared by the threads of one query head.
struct PlainShared {
  float query[kHeadDimMax];
  float weights[kKeys];  ///< scores of a block, then exp(score - maximum)
  RowStats block;
};

/// The query head that a block of threads works for.
struct PlainHead {
  const AttentionArgs& a;
  const AttentionPlan& p;
  int q, head, kvHead;
  Seen seen;

  __device__ __forceinline__ PlainHead(const AttentionArgs& args, const AttentionPlan& plan)
      : a(args),
        p(plan),
        q(static_cast<int>(blockIdx.x)),
        head(static_cast<int>(blockIdx.y)),
        kvHead(head / plan.group),
        seen(seenRange(a.rowBegin[q], a.rowEnd[q], a.selfSlot && a.selfSlot[q] >= 0)) {}

  __device__ __forceinline__ const uint8_t* record(int start, int key, const SeenPart& part) const {
    return a.pool + int64_t{key < part.rowsEnd ? a.slots[start + key] : a.selfSlot[q]} * p.stride;
  }
  __device__ __forceinline__ const float* table(int start, int key, const SeenPart& part) const {
    if (a.keysRotated) return nullptr;
    const int phase = key < part.rowsEnd ? a.phaseIndex[start + key] : a.selfPhaseIndex[q];
    return a.rotaryTable + int64_t{phase} * rotaryWidth(a.fmt.headDim);
  }
  __device__ __forceinline__ float scale(const uint8_t* row, int scales) const {
    return scales > 0 ? wordAt<float>(row + scales + 4 * kvHead) : 1.0f;
  }
};

/// Keys of the block in turn, 16 threads for each, a virtual lane a thread.
__device__ __forceinline__ void scoreKeys(const PlainHead& h, PlainShared& s, int start, const SeenPart& part) {
  const int lane = static_cast<int>(threadIdx.x) & 15, d = h.a.fmt.headDim;
  for (int first = part.lo; first < part.hi; first += kThreads / 16) {
    const int key = first + static_cast<int>(threadIdx.x) / 16;
    float sum = 0.0f;
    if (key < part.hi) {
      const uint8_t* row = h.record(start, key, part);
      const uint8_t* from = row + h.p.kOffset + int64_t{h.kvHead} * d * dtypeBytes(h.a.fmt.k);
      const float scale = h.scale(row, h.p.kScales);
      const float* table = h.table(start, key, part);
      for (int e = lane; e < d; e += 16) sum = fmaf(s.query[e], keyAt<true>(h.a, from, scale, table, e), sum);
    }
    sum = treeOverThreads(kWholeWarp, sum);
    if (key < part.hi && lane == 0) s.weights[key] = scoreOf(h.a, sum);
  }
}

/// The first warp; both halves compute, the first one writes.
__device__ __forceinline__ void weighKeys(const PlainHead& h, PlainShared& s, int block, const SeenPart& part) {
  if (threadIdx.x >= 32) return;
  const int lane = static_cast<int>(threadIdx.x) & 15;
  float x[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int key = lane + 16 * i;
    x[i] = key >= part.lo && key < part.hi ? s.weights[key] : -INFINITY;
  }
  const auto [best, sum] = softmaxOfBlock(x);
  if (threadIdx.x >= 16) return;
  const int64_t kept = h.q < h.p.stored ? -1 : h.p.keptAt(h.q, h.a.queryHeads, h.head, block);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    s.weights[lane + 16 * i] = x[i];
    if (kept >= 0) h.p.kept[kept * kKeys + lane + 16 * i] = x[i];
  }
  if (lane != 0) return;
  s.block = {best, sum};
  if (kept >= 0) h.p.maxima[kept] = best;
}

/// Running sums of a thread over the blocks so far.
struct PlainSums {
  RowStats stats = {-INFINITY, 0.0f};
  float values[kOwn] = {};

  __device__ __forceinline__ void add(const PlainHead& h, const PlainShared& s, int start, const SeenPart& part) {
    const int d = h.a.fmt.headDim;
    float block[kOwn] = {};
    for (int key = part.lo; key < part.hi; ++key) {
      const uint8_t* row = h.record(start, key, part);
      const uint8_t* from = row + h.p.vOffset + int64_t{h.kvHead} * d * dtypeBytes(h.a.fmt.v);
      const float scale = h.scale(row, h.p.vScales);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int e = static_cast<int>(threadIdx.x) + i * kThreads;
        if (e < d) block[i] = fmaf(s.weights[key], rowValueAt<true>(from, e, h.a.fmt.v, scale), block[i]);
      }
    }
    merge(s.block, block);
  }

  __device__ __forceinline__ void merge(const RowStats& one, const float (&block)[kOwn]) {
    const bool first = stats.sum == 0.0f;
    const float most = stats.max < one.max ? one.max : stats.max;
    const float left = first ? 0.0f : expOf(stats.max - most), right = first ? 1.0f : expOf(one.max - most);
    stats = first ? one : RowStats{most, fmaf(stats.sum, left, one.sum * right)};
#pragma unroll
    for (int i = 0; i < kOwn; ++i) values[i] = first ? block[i] : fmaf(values[i], left, block[i] * right);
  }

  __device__ __forceinline__ void finish(const PlainHead& h) const {
    const int d = h.a.fmt.headDim;
    const float sum = sumWithSink(h.a, h.head, stats.max, stats.sum);
    float* to = h.a.out + h.q * h.a.outStride + int64_t{h.head} * d;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int e = static_cast<int>(threadIdx.x) + i * kThreads;
      if (e < d) to[e] = sum == 0.0f ? 0.0f : values[i] / sum;
    }
    if (threadIdx.x == 0 && h.q >= h.p.stored)
      h.p.finals[int64_t{h.q - h.p.stored} * h.a.queryHeads + h.head] = {stats.max, sum};
  }
};

/// Grid: x = queries, y = query heads.
__global__ void __launch_bounds__(kThreads, 4) plainKernel(AttentionArgs a, AttentionPlan p) {
  __shared__ __align__(16) uint8_t memory[sizeof(PlainShared)];
  PlainShared& s = *reinterpret_cast<PlainShared*>(memory);
  const PlainHead h(a, p);
  const float* query = a.queries + h.q * a.queryStride + int64_t{h.head} * a.fmt.headDim;
  for (int e = static_cast<int>(threadIdx.x); e < a.fmt.headDim; e += kThreads) s.query[e] = query[e];
  const BlockSpan span = blocksOf(h.seen, p.skew);
  PlainSums sums;
  for (int block = span.first; block < span.end; ++block) {
    const int start = startOf(block, p.skew);
    const SeenPart part = partAt(h.seen, start);
    __syncthreads();  // the query is there, and the block before is done with
    scoreKeys(h, s, start, part);
    __syncthreads();
    weighKeys(h, s, block, part);
    __syncthreads();
    sums.add(h, s, start, part);
  }
  sums.finish(h);
}

}  // namespace

int32_t walkPlain(const Walk& w) {
  return launch(plainKernel, {w.args.nQueries, w.args.queryHeads}, kThreads, 0, w.stream, w.args, w.plan);
}

}  // namespace kvlab::kernels::cuda
