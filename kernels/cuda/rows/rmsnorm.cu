// SPDX-License-Identifier: Apache-2.0
// Root mean square norm: a block for each row. The sum of squares has 16 lanes in a fixed order, so 16
// threads add the values that the whole block has brought to shared memory.
#include <algorithm>

#include "kernels/cuda/runtime/device_math.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kMaxThreads = 256, kChunk = 4096;  // floats at a time

__global__ void __launch_bounds__(kMaxThreads) rmsnormKernel(RmsnormArgs a) {
  __shared__ __align__(16) float chunk[kChunk];
  __shared__ float factor;
  const int threads = static_cast<int>(blockDim.x), me = static_cast<int>(threadIdx.x);
  const float* x = a.x + blockIdx.x * a.xStride;
  float* y = a.y + blockIdx.x * a.yStride;
  float lane = 0.0f;
  for (int64_t from = 0; from < a.dim; from += kChunk) {
    const int count = static_cast<int>(min(a.dim - from, int64_t{kChunk}));
    for (int i = me; i < count; i += threads) chunk[i] = x[from + i];
    __syncthreads();
    if (me < 16) {
#pragma unroll 8
      for (int i = me; i < count; i += 16) lane = fmaf(chunk[i], chunk[i], lane);
    }
    __syncthreads();
  }
  if (me < 16) {
    const float sum = treeOverThreads(0xffffu, lane);
    if (me == 0) factor = 1.0f / sqrtf(sum / static_cast<float>(a.dim) + a.eps);
  }
  __syncthreads();
  for (int64_t i = me; i < a.dim; i += threads)
    y[i] = x[i] * factor * (valueOf(a.weight, i, a.weightType) + a.weightOffset);
}

}  // namespace

int32_t rmsnorm(void* stream, const RmsnormArgs& args) {
  RmsnormArgs a = args;
  if (a.xStride == 0) a.xStride = a.dim;
  if (a.yStride == 0) a.yStride = a.dim;
  const auto threads = static_cast<unsigned>(std::clamp<int64_t>((a.dim + 127) / 128 * 32, 32, kMaxThreads));
  return launch(rmsnormKernel, a.rows, threads, 0, stream, a);
}

}  // namespace kvlab::kernels::cuda
