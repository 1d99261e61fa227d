// SPDX-License-Identifier: Apache-2.0
// Computes the difference of rows: eight threads for each row, one for each partial sum of cpu/rows/diff_rows.cpp.
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 64, kLanes = 8, kRows = kThreads / kLanes;

__device__ double total(double v) {
  for (int step = 4; step > 0; step /= 2) v = v + __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}

__global__ void __launch_bounds__(kThreads) diffRowsKernel(DiffRowsArgs args) {
  const int64_t row = int64_t{blockIdx.x} * kRows + threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int64_t base = row * args.dim, count = row < args.n ? args.dim : 0;
  double dd = 0, rr = 0, aa = 0, ar = 0, largest = 0;
  for (int64_t i = lane; i < count; i += kLanes) {
    const double a = double{args.a[base + i]}, r = double{args.reference[base + i]}, d = a - r;
    dd += d * d;
    rr += r * r;
    aa += a * a;
    ar += a * r;
    if (largest < fabs(d)) largest = fabs(d);
  }
  dd = total(dd), rr = total(rr), aa = total(aa), ar = total(ar);
  for (int step = 4; step > 0; step /= 2) {
    const double other = __shfl_xor_sync(0xffffffffu, largest, step);
    if (largest < other) largest = other;
  }
  if (lane != 0 || row >= args.n) return;
  if (args.relativeL2) args.relativeL2[row] = relativeL2Of(dd, rr);
  if (args.cosine) args.cosine[row] = cosineOf(ar, aa, rr);
  if (args.maxAbs) args.maxAbs[row] = largest;
}

}  // namespace

int32_t diffRows(void* stream, const DiffRowsArgs& a) {
  return launch(diffRowsKernel, (a.n + kRows - 1) / kRows, kThreads, 0, stream, a);
}

}  // namespace kvlab::kernels::cuda
