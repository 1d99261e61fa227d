// SPDX-License-Identifier: Apache-2.0
// Reductions over one vector of logits, one block each: a vocabulary is small beside a tick.
#include <cmath>

#include "kernels/cuda/runtime/device_math.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 512, kChunk = 4096;

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
  uint64_t best = 0;  // order of the value above, the lower index larger
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < a.n; i += kThreads)
    best = larger(best, uint64_t{orderOf(a.x[i])} << 32 | (0xffffffffu - static_cast<uint32_t>(i)));
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

}  // namespace

int32_t argmax(void* stream, const ArgmaxArgs& a) { return launch(argmaxKernel, 1, kThreads, 0, stream, a); }

int32_t softmax(void* stream, const SoftmaxArgs& a) { return launch(softmaxKernel, a.n > 0, kThreads, 0, stream, a); }

}  // namespace kvlab::kernels::cuda
