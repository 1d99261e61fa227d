// SPDX-License-Identifier: Apache-2.0
// Rows of the embedding table: blocks side by side along a row.
#include "kernels/block_codes.h"
#include "kernels/cuda/runtime/bounds.h"
#include "kernels/cuda/runtime/device_math.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 128, kPerThread = 4;

template <DType T>
__global__ void __launch_bounds__(kThreads) embeddingKernel(EmbeddingArgs a, Bounds bounds) {
  const int64_t i = blockIdx.x, begin = int64_t{blockIdx.y} * kThreads * kPerThread + threadIdx.x;
  const int64_t rowBytes = dtypeRowBytes(T, a.dim),
                id = bounds.of(IndexKind::tokenId, a.table, rowBytes).orZero(int64_t{a.ids[i]});
  const auto* row = static_cast<const uint8_t*>(a.table) + id * rowBytes;
#pragma unroll
  for (int part = 0; part < kPerThread; ++part) {
    const int64_t at = begin + part * kThreads;
    if (at >= a.dim) return;
    float x;
    if constexpr (dtypeInBlocks(T)) x = blockValue<T>(row, at);
    else x = valueOf<T>(row, at);
    a.out[i * a.dim + at] = a.scale == 1.0f ? x : x * a.scale;
  }
}

}  // namespace

int32_t embedding(void* stream, const EmbeddingArgs& a) {
  const Grid grid{a.n, (a.dim + kThreads * kPerThread - 1) / (kThreads * kPerThread)};
  const Bounds bounds = boundsFor("embedding");
  switch (a.tableType) {
    case DType::f32: return launch(embeddingKernel<DType::f32>, grid, kThreads, 0, stream, a, bounds);
    case DType::f16: return launch(embeddingKernel<DType::f16>, grid, kThreads, 0, stream, a, bounds);
    case DType::bf16: return launch(embeddingKernel<DType::bf16>, grid, kThreads, 0, stream, a, bounds);
    default: break;
  }
  int32_t error = cudaErrorNotSupported;
  withBlockType(a.tableType, [&](auto type) {
    error = launch(embeddingKernel<decltype(type)::value>, grid, kThreads, 0, stream, a, bounds);
  });
  return error;
}

}  // namespace kvlab::kernels::cuda
