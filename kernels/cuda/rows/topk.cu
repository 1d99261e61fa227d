// SPDX-License-Identifier: Apache-2.0
// The k largest in order. Values and indices together are distinct 64-bit words, and a block finds all
// words of kPart consecutive ranks: the borders by counting digits from the top, then it gathers and sorts.
#include <algorithm>

#include "kernels/cuda/runtime/device_math.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 512, kPart = 2048, kDigits = 256;

/// The word of an entry that ranks earlier is larger.
__device__ uint64_t rankWord(float x, int64_t i) {
  return uint64_t{orderOf(x)} << 32 | (0xffffffffu - static_cast<uint32_t>(i));
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
      const uint64_t word = rankWord(a.x[i], i);
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
    const uint64_t word = rankWord(a.x[i], i);
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

int32_t topk(void* stream, const TopkArgs& a) {
  return launch(topkKernel, (a.k + kPart - 1) / kPart, kThreads, 0, stream, a);
}

}  // namespace kvlab::kernels::cuda
