// SPDX-License-Identifier: Apache-2.0
// Reductions over one vector of logits, one block each: a vocabulary is small beside a tick.
//
// The k largest in order: values and indices together are distinct 64-bit words, and a block finds all words of kPart
// consecutive ranks: the borders by counting digits from the top, then it gathers and sorts.
#include <cmath>

#include "kernels/cuda/runtime/device_math.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 512, kChunk = 4096, kPart = 2048, kDigits = 256;

__device__ uint64_t larger(uint64_t a, uint64_t b) { return a < b ? b : a; }
__device__ float larger(float a, float b) { return a < b ? b : a; }

/// Largest over the block, in every thread.
template <class T>
__device__ T blockLargest(T x) {
  __shared__ T warps[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) x = larger(x, __shfl_xor_sync(kWholeWarp, x, step));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  for (int warp = 0; warp < kThreads / 32; ++warp) x = larger(x, warps[warp]);
  return x;
}

__global__ void __launch_bounds__(kThreads) argmaxKernel(ArgmaxArgs a) {
  uint64_t best = 0;
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < a.n; i += kThreads) best = larger(best, rankWord(a.x[i], static_cast<uint32_t>(i)));
  best = blockLargest(best);
  if (threadIdx.x == 0) *a.index = static_cast<int64_t>(0xffffffffu - static_cast<uint32_t>(best));
}

__global__ void __launch_bounds__(kThreads) softmaxKernel(SoftmaxArgs a) {
  __shared__ float chunk[kChunk];
  __shared__ float sum;
  const int me = static_cast<int>(threadIdx.x);
  float shift = -HUGE_VALF, lane = 0.0f;
  for (int64_t i = me; i < a.n; i += kThreads) shift = larger(shift, a.x[i] * a.scale);
  shift = blockLargest(shift);
  for (int64_t from = 0; from < a.n; from += kChunk) {
    const int count = static_cast<int>(min(a.n - from, int64_t{kChunk}));
    for (int i = me; i < count; i += kThreads) chunk[i] = a.out[from + i] = expOf(a.x[from + i] * a.scale - shift);
    __syncthreads();
    if (me < 16) {
#pragma unroll 8
      for (int i = me; i < count; i += 16) lane += chunk[i];
    }
    __syncthreads();
  }
  if (me < 16) {
    lane = treeOverThreads(0xffffu, lane);
    if (me == 0) sum = lane;
  }
  __syncthreads();
  for (int64_t i = me; i < a.n; i += kThreads) a.out[i] /= sum;
}

/// The word that exactly `rank` others exceed; rank < n.
__device__ uint64_t wordOfRank(const TopkArgs& a, int64_t rank) {
  __shared__ unsigned counts[kDigits];
  __shared__ uint64_t known;
  __shared__ int64_t before;
  const int me = static_cast<int>(threadIdx.x);
  uint64_t prefix = 0;
  for (int shift = 56; shift >= 0; shift -= 8) {
    for (int d = me; d < kDigits; d += kThreads) counts[d] = 0;
    __syncthreads();
    for (int64_t i = me; i < a.n; i += kThreads) {
      const uint64_t word = rankWord(a.x[i], static_cast<uint32_t>(i));
      if (shift == 56 || (word >> (shift + 8)) == (prefix >> (shift + 8)))
        atomicAdd(&counts[(word >> shift) & 0xff], 1u);
    }
    __syncthreads();
    if (me == 0) {
      int digit = kDigits - 1;
      int64_t above = 0;
      for (; above + counts[digit] <= rank; --digit) above += counts[digit];
      known = prefix | (static_cast<uint64_t>(digit) << shift);
      before = above;
    }
    __syncthreads();
    prefix = known;
    rank -= before;
    __syncthreads();
  }
  return prefix;
}

/// Descending, bitonic; count is a power of two.
__device__ void sortWords(uint64_t* words, int count) {
  for (int size = 2; size <= count; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
        const int other = i ^ step;
        if (other < i) continue;
        const bool descending = (i & size) == 0;
        const uint64_t x = words[i], y = words[other];
        if ((x < y) != descending) continue;
        words[i] = y;
        words[other] = x;
      }
    }
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads) topkKernel(TopkArgs a) {
  __shared__ uint64_t words[kPart];
  __shared__ int held;
  const int64_t first = int64_t{blockIdx.x} * kPart, count = min(a.k - first, int64_t{kPart});
  const uint64_t highest = wordOfRank(a, first), lowest = wordOfRank(a, first + count - 1);
  int room = 1;
  while (room < count) room *= 2;
  for (int i = static_cast<int>(threadIdx.x); i < room; i += kThreads) words[i] = 0;
  if (threadIdx.x == 0) held = 0;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < a.n; i += kThreads) {
    const uint64_t word = rankWord(a.x[i], static_cast<uint32_t>(i));
    if (word <= highest && word >= lowest) words[atomicAdd(&held, 1)] = word;
  }
  sortWords(words, room);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    const auto index = static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(words[i]));
    a.indices[first + i] = index;
    if (a.values) a.values[first + i] = a.x[index];
  }
}

}  // namespace

int32_t argmax(void* stream, const ArgmaxArgs& a) { return launch(argmaxKernel, 1, kThreads, 0, stream, a); }

int32_t softmax(void* stream, const SoftmaxArgs& a) { return launch(softmaxKernel, a.n > 0, kThreads, 0, stream, a); }

int32_t topk(void* stream, const TopkArgs& a) {
  return launch(topkKernel, (a.k + kPart - 1) / kPart, kThreads, 0, stream, a);
}

}  // namespace kvlab::kernels::cuda
