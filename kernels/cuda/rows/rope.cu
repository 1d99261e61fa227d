// SPDX-License-Identifier: Apache-2.0
// Rotary embedding: a thread for each pair of values half a head apart, a block for some heads of a row.
#include "kernels/cuda/runtime/bounds.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads) ropeKernel(RopeArgs a, Bounds bounds) {
  const int64_t i = blockIdx.x;
  const int32_t half = a.headDim / 2;
  const auto pair = static_cast<int32_t>(blockIdx.y * kThreads + threadIdx.x);
  if (pair >= a.heads * half) return;
  const int32_t head = pair / half, at = pair - head * half;
  const int64_t phase =
      bounds.of(IndexKind::phase, a.table, int64_t{rotaryWidth(a.headDim)} * 4).orZero(int64_t{a.phaseIndex[i]});
  const float* row = a.table + phase * rotaryWidth(a.headDim);
  float* x = a.x + i * a.xStride + int64_t{head} * a.headDim + at;
  const float lo = x[0], hi = x[half], cosine = row[at], sine = row[half + at];
  x[0] = fmaf(lo, cosine, -(hi * sine));
  x[half] = fmaf(hi, cosine, lo * sine);
}

/// A block for a head of a row.
__global__ void __launch_bounds__(kThreads) reorderKernel(ReorderArgs a, Bounds bounds) {
  __shared__ float head[kReorderMax];
  float* x = a.x + int64_t{blockIdx.x} * a.xStride + int64_t{blockIdx.y} * a.headDim;
  const auto thread = static_cast<int32_t>(threadIdx.x);
  for (int32_t e = thread; e < a.headDim; e += kThreads) head[e] = x[e];
  __syncthreads();
  const Bound places = bounds.upTo(IndexKind::position, a.headDim);
  for (int32_t e = thread; e < a.headDim; e += kThreads) x[e] = head[places.orZero(int64_t{a.order[e]})];
}

}  // namespace

int32_t reorder(void* stream, const ReorderArgs& args) {
  ReorderArgs a = args;
  if (a.xStride == 0) a.xStride = int64_t{a.heads} * a.headDim;
  if (a.n <= 0) return 0;
  return launch(reorderKernel, {a.n, a.heads}, kThreads, 0, stream, a, boundsFor("reorder"));
}

int32_t rope(void* stream, const RopeArgs& args) {
  RopeArgs a = args;
  if (a.xStride == 0) a.xStride = int64_t{a.heads} * a.headDim;
  const int64_t pairs = int64_t{a.heads} * (a.headDim / 2);
  return launch(ropeKernel, {a.n, (pairs + kThreads - 1) / kThreads}, kThreads, 0, stream, a, boundsFor("rope"));
}

}  // namespace kvlab::kernels::cuda
