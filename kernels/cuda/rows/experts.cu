// SPDX-License-Identifier: Apache-2.0
// The choice of experts, a block for each row, and rows that go to an expert and come back, a thread for each value.
#include "kernels/cuda/runtime/device_math.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kRouteThreads = 128, kExpertThreads = 256;

/// Larger for an expert that ranks earlier; the place of an expert follows from its own score alone.
__device__ uint64_t expertWord(float score, int32_t expert) {
  const float shown = score == score ? score : -INFINITY;
  return rankWord(shown, static_cast<uint32_t>(expert));
}

__global__ void __launch_bounds__(kRouteThreads) routeKernel(RouteArgs a) {
  __shared__ float own[kExpertsMax];
  __shared__ bool taken[kExpertsMax];
  __shared__ float sum;
  const int64_t row = blockIdx.x;
  const float* scores = a.scores + row * a.experts;
  int32_t* chosen = a.chosen + row * a.top;
  for (int32_t e = static_cast<int32_t>(threadIdx.x); e < a.experts; e += kRouteThreads) {
    const uint64_t mine = expertWord(scores[e], e);
    int32_t rank = 0;
    for (int32_t other = 0; other < a.experts; ++other) rank += expertWord(scores[other], other) > mine;
    taken[e] = rank < a.top;
    if (taken[e]) chosen[rank] = e;
  }
  __syncthreads();
  const float most = scores[chosen[0]];
  for (int32_t e = static_cast<int32_t>(threadIdx.x); e < a.experts; e += kRouteThreads)
    own[e] = expOf(scores[e] - most);
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0.0f;
    for (int32_t e = 0; e < a.experts; ++e)
      if (!a.normalised || taken[e]) all = all + own[e];
    sum = all;
  }
  __syncthreads();
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < a.top; i += kRouteThreads)
    a.weights[row * a.top + i] = own[chosen[i]] / sum;
}

__global__ void __launch_bounds__(kExpertThreads) takeRowsKernel(TakeRowsArgs a) {
  const int64_t i = blockIdx.x;
  for (int64_t j = threadIdx.x; j < a.dim; j += kExpertThreads) a.out[i * a.dim + j] = a.x[a.rows[i] * a.dim + j];
}

__global__ void __launch_bounds__(kExpertThreads) mixRowsKernel(MixRowsArgs a) {
  const int64_t i = blockIdx.x;
  float* x = a.x + a.rows[i] * a.dim;
  for (int64_t j = threadIdx.x; j < a.dim; j += kExpertThreads) x[j] = x[j] + a.weights[i] * a.y[i * a.dim + j];
}

}  // namespace

int32_t route(void* stream, const RouteArgs& a) {
  return a.n <= 0 ? 0 : launch(routeKernel, Grid{a.n}, kRouteThreads, 0, stream, a);
}

int32_t takeRows(void* stream, const TakeRowsArgs& a) {
  return a.n <= 0 ? 0 : launch(takeRowsKernel, Grid{a.n}, kExpertThreads, 0, stream, a);
}

int32_t mixRows(void* stream, const MixRowsArgs& a) {
  return a.n <= 0 ? 0 : launch(mixRowsKernel, Grid{a.n}, kExpertThreads, 0, stream, a);
}

}  // namespace kvlab::kernels::cuda
