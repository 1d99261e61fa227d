// SPDX-License-Identifier: Apache-2.0
// The merge of block results and the probability masses. Expressions are those of
// kernels/cpu/attention/attention_block-inl.h and attention_mass-inl.h.
//
// The merge is a chain: left = left * a + block * b, one multiply-add after the other for every value. The
// rest is done ahead: the maxima left of a block are a prefix maximum (exact in any order), so all a and b
// of 32 blocks come from one warp at once, and the blocks' values come through a ring of stages in shared
// memory, seven stages ahead. Another warp walks the chains of 32 values and does nothing else.
#include "kernels/cuda/attention/attention_launch.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kSlice = 32;     // values of a head that one block of threads merges
constexpr int kPerStage = 32;  // blocks of keys
constexpr int kStages = 8;  // 30 KB under way; 128 of them 4 MB, what 5 TB/s out of the cache need in 0.7 microseconds
constexpr int kMergeThreads = 128;
constexpr int kCopiers = kMergeThreads - 32;
constexpr int kMassThreads = 128;

struct alignas(16) MergeStage {
  float values[kPerStage][kSlice];
  RowStats states[kPerStage];
};

struct alignas(16) Factors {
  float left, block, sum, unused;  // left * left' + values * block; sum = the block's sum * block
};

/// Blocks [first, first + 32) of a head into a stage, those below `end`.
__device__ __forceinline__ void fetchBlocks(const AttentionPlan& p, int64_t state, int first, int end, int headDim,
                                            int slice, MergeStage& to) {
  const int count = min(end - first, kPerStage);
  constexpr int kPieces = kSlice / 4;
  const int copier = static_cast<int>(threadIdx.x) - 32;
  if (copier < 0) return;
  for (int at = copier; at < count * kPieces; at += kCopiers) {
    const int block = at / kPieces, value = at % kPieces * 4;
    if (slice + value >= headDim) continue;
    copyAsync16(&to.values[block][value], p.values + (state + first + block) * headDim + slice + value);
  }
  if (copier >= count) return;
  const RowStats& from = p.states[state + first + copier];
  copyAsync4(&to.states[copier].max, &from.max);
  copyAsync4(&to.states[copier].sum, &from.sum);
}

/// Factors of up to 32 blocks from the maximum left of them, which moves on. One warp, a lane per block.
__device__ __forceinline__ void factorsOf(const RowStats* states, int count, float& carried, Factors* to) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const RowStats block = lane < count ? states[lane] : RowStats{-INFINITY, 0.0f};
  float upTo = block.max;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float left = __shfl_up_sync(kWholeWarp, upTo, step);
    if (lane >= step) upTo = left < upTo ? upTo : left;
  }
  upTo = carried < upTo ? upTo : carried;
  float left = __shfl_up_sync(kWholeWarp, upTo, 1);
  if (lane == 0) left = carried;
  const float scale = expOf(block.max - upTo);
  to[lane] = {expOf(left - upTo), scale, block.sum * scale, 0.0f};
  carried = __shfl_sync(kWholeWarp, upTo, 31);
}

struct Chain {
  float value = 0.0f, sum = 0.0f;

  __device__ __forceinline__ void walk(const MergeStage& stage, const Factors* factors, int count, bool first) {
    const int lane = static_cast<int>(threadIdx.x);
    if (first) value = stage.values[0][lane], sum = stage.states[0].sum;
#pragma unroll 8
    for (int i = first ? 1 : 0; i < count; ++i) {
      const Factors f = factors[i];
      sum = fmaf(sum, f.left, f.sum);
      value = fmaf(value, f.left, stage.values[i][lane] * f.block);
    }
  }
};

/// Grid: x = slices of headDim, y = query heads, z = queries.
__global__ void __launch_bounds__(kMergeThreads) mergeKernel(AttentionArgs a, AttentionPlan p) {
  __shared__ MergeStage stages[kStages];
  __shared__ Factors factors[2][kPerStage];
  __shared__ float most;
  const int thread = static_cast<int>(threadIdx.x), slice = static_cast<int>(blockIdx.x) * kSlice, d = a.fmt.headDim;
  const int head = static_cast<int>(blockIdx.y), q = static_cast<int>(blockIdx.z);
  const Seen seen = seenRange(a.rowBegin[q], a.rowEnd[q], a.selfSlot && a.selfSlot[q] >= 0);
  const BlockSpan span = blocksOf(seen, p.skew);
  const int blocks = span.end - span.first, steps = (blocks + kPerStage - 1) / kPerStage;
  const int64_t state = p.stateAt(q, a.queryHeads, head, span.first);
  const auto countOf = [&](int step) { return min(blocks - step * kPerStage, kPerStage); };
  const auto fetch = [&](int step) {
    if (step < steps) fetchBlocks(p, state, step * kPerStage, blocks, d, slice, stages[step % kStages]);
    commitCopies();
  };
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  Chain chain;
  float carried = -INFINITY;
  waitCopies<kStages - 2>();
  __syncthreads();
  const bool scales = thread / 32 == 1;
  if (scales && steps > 0) {
    carried = stages[0].states[0].max;
    factorsOf(stages[0].states, countOf(0), carried, factors[0]);
  }
  for (int step = 0; step < steps; ++step) {
    waitCopies<kStages - 3>();  // the stage after this one, for its factors
    __syncthreads();
    fetch(step + kStages - 1);
    if (thread < 32) {
      chain.walk(stages[step % kStages], factors[step % 2], countOf(step), step == 0);
    } else if (scales && step + 1 < steps) {
      factorsOf(stages[(step + 1) % kStages].states, countOf(step + 1), carried, factors[(step + 1) % 2]);
    }
  }
  if (thread == 32) most = carried;
  __syncthreads();
  if (thread >= 32) return;
  const float sum = sumWithSink(a, head, most, chain.sum);
  if (slice + thread < d)
    a.out[q * a.outStride + int64_t{head} * d + slice + thread] = sum == 0.0f ? 0.0f : chain.value / sum;
  if (slice != 0 || q < p.stored || thread != 0) return;
  p.finals[int64_t{q - p.stored} * a.queryHeads + head] = {most, sum};
}

/// Probabilities of all heads are kept; otherwise those of the first give way to the mean.
__device__ __forceinline__ bool perHead(const AttentionArgs& a) { return a.mass.receivedPerHead || a.mass.lastAbove; }

/// Calls fn(q, first) for every query of the batch that sees an entry, ascending; first: its place in p.kept, of head
/// 0. Entry `rows` is the self row, another key for every query.
template <class Fn>
__device__ __forceinline__ void forQueries(const AttentionArgs& a, const AttentionPlan& p, int64_t entry,
                                           const Fn& fn) {
#pragma unroll 1
  for (int q = 0; q < a.nQueries; ++q) {
    const bool hasSelf = a.selfSlot && a.selfSlot[q] >= 0;
    const Seen seen = seenRange(a.rowBegin[q], a.rowEnd[q], hasSelf);
    const bool mine = entry == a.rows ? hasSelf : entry >= seen.begin && entry < seen.end;
    if (!mine) continue;
    const int at = p.skew + (entry == a.rows ? seen.end : static_cast<int>(entry));
    fn(q, p.keptAt(q, a.queryHeads, 0, at / kKeys) * kKeys + at % kKeys);
  }
}

/// One key of one block of one query: its probability in every head, the mean over them. Grid: x = blocks of
/// keys, y = stored queries; 64 threads walk the heads, whose factors they compute 64 at a time.
__global__ void __launch_bounds__(kKeys) headMeanKernel(AttentionArgs a, AttentionPlan p, bool newestOfBatch) {
  __shared__ float factors[kKeys];
  const int key = static_cast<int>(threadIdx.x);
  const int q = p.stored + static_cast<int>(blockIdx.y), block = static_cast<int>(blockIdx.x),
            start = startOf(block, p.skew);
  const Seen seen = seenRange(a.rowBegin[q], a.rowEnd[q], a.selfSlot && a.selfSlot[q] >= 0);
  const SeenPart part = partAt(seen, start);
  if (part.empty()) return;
  const bool row = key >= part.lo && key < part.rowsEnd, self = part.hasSelf() && key == part.rowsEnd;
  const bool newest = newestOfBatch && q == a.nQueries - 1;
  const int64_t entry = self ? a.rows : start + key;
  float mean = 0.0f;
  for (int head = 0; head < a.queryHeads; head += kKeys) {
    __syncthreads();
    if (head + key < a.queryHeads) {
      const float maximum = p.maxima[p.keptAt(q, a.queryHeads, head + key, block)];
      const RowStats all = p.finals[int64_t{q - p.stored} * a.queryHeads + head + key];
      factors[key] = maximum == -INFINITY || all.sum == 0.0f ? 0.0f : expOf(maximum - all.max) / all.sum;
    }
    __syncthreads();
    const int count = a.queryHeads - head < kKeys ? a.queryHeads - head : kKeys;
#pragma unroll 8
    for (int h = 0; h < count; ++h) {
      const float kept = p.kept[p.keptAt(q, a.queryHeads, head + h, block) * kKeys + key];
      const float probability = factors[h] == 0.0f ? 0.0f : kept * factors[h];
      mean = mean + probability;
      if (newest && a.mass.newestPerHead && (row || self))
        a.mass.newestPerHead[(head + h) * (a.rows + 1) + entry] = probability;
      if (perHead(a)) p.kept[p.keptAt(q, a.queryHeads, head + h, block) * kKeys + key] = probability;
    }
  }
  mean = mean / static_cast<float>(a.queryHeads);
  if (newest && a.mass.newest && (row || self)) a.mass.newest[entry] = mean;
  if (a.mass.received && !perHead(a))
    p.kept[p.keptAt(q, a.queryHeads, 0, block) * kKeys + key] = mean;  // this thread alone reads there
}

__global__ void __launch_bounds__(kMassThreads) receiveKernel(AttentionArgs a, AttentionPlan p) {
  const int64_t entry = int64_t{blockIdx.x} * kMassThreads + threadIdx.x;
  if (entry > a.rows) return;
  const int heads = perHead(a) ? a.queryHeads : 1;
  float received = a.mass.received[entry];
  forQueries(a, p, entry, [&](int, int64_t first) {
    if (heads == 1) {  // one head's probability is its mean
      received = received + p.kept[first];
      return;
    }
    float mean = 0.0f;
#pragma unroll 4
    for (int h = 0; h < heads; ++h) mean = mean + p.kept[first + h * p.blocks * kKeys];
    received = received + mean / static_cast<float>(heads);
  });
  a.mass.received[entry] = received;
}

/// The lists of the heads of one group: a thread per entry, grid y = KV heads.
__global__ void __launch_bounds__(kMassThreads) receiveHeadsKernel(AttentionArgs a, AttentionPlan p) {
  const int64_t entry = int64_t{blockIdx.x} * kMassThreads + threadIdx.x, headStep = p.blocks * kKeys,
                list = a.rows + 1;
  if (entry > a.rows) return;
  const int kvHead = static_cast<int>(blockIdx.y), firstHead = kvHead * p.group;
#pragma unroll 1
  for (int h = firstHead; a.mass.receivedPerHead && h < firstHead + p.group; ++h) {
    float received = a.mass.receivedPerHead[h * list + entry];
    forQueries(a, p, entry, [&](int, int64_t first) { received = received + p.kept[first + h * headStep]; });
    a.mass.receivedPerHead[h * list + entry] = received;
  }
  if (!a.mass.lastAbove) return;
  int32_t last = a.mass.lastAbove[kvHead * list + entry];
  forQueries(a, p, entry, [&](int q, int64_t first) {
    float largest = 0.0f;
#pragma unroll 4
    for (int h = firstHead; h < firstHead + p.group; ++h) largest = fmaxf(largest, p.kept[first + h * headStep]);
    if (largest > a.aboveThreshold) last = max(last, a.queryIndex[q]);
  });
  a.mass.lastAbove[kvHead * list + entry] = last;
}

}  // namespace

int32_t mergeBlocks(void* stream, const AttentionArgs& a, const AttentionPlan& p) {
  const Grid grid{(a.fmt.headDim + kSlice - 1) / kSlice, a.queryHeads, a.nQueries};
  return launch(mergeKernel, grid, kMergeThreads, 0, stream, a, p);
}

int32_t writeMasses(void* stream, const AttentionArgs& a, const AttentionPlan& p, bool newest) {
  const int32_t error = launch(headMeanKernel, {p.blocks, a.nQueries - p.stored}, kKeys, 0, stream, a, p, newest);
  if (error || !a.mass.wantsReceived()) return error;
  const int64_t blocks = a.rows / kMassThreads + 1;
  if (a.mass.receivedPerHead || a.mass.lastAbove)
    if (const int32_t e = launch(receiveHeadsKernel, {blocks, a.fmt.kvHeads}, kMassThreads, 0, stream, a, p)) return e;
  return a.mass.received ? launch(receiveKernel, blocks, kMassThreads, 0, stream, a, p) : 0;
}

}  // namespace kvlab::kernels::cuda
