// SPDX-License-Identifier: Apache-2.0
// Multiplies up to eight rows of x with weights in blocks (kernels/block_codes.h), which stream by once. Eight
// neighbouring threads own an output row, and each thread owns two of its 16 virtual lanes: two neighbours of
// every 16 values. Weights are read where they lie, byte by byte, because a block starts anywhere; x comes through the
// caches.
#pragma once

#include "kernels/block_codes.h"
#include "kernels/cuda/linear/matmul_parts.h"

namespace kvlab::kernels::cuda {

inline constexpr int kBlockThreads = 128, kBlockRows = kBlockThreads / 8;

template <DType T, int kM>
__global__ void __launch_bounds__(kBlockThreads) matmulBlocksKernel(MatmulArgs a) {
  constexpr DTypeBlock kBlock = dtypeBlock(T);
  constexpr int kValues = static_cast<int>(kBlock.values), kUnit = static_cast<int>(blockForm(T).unit);
  const int t = static_cast<int>(threadIdx.x) % 8;
  const int64_t n = int64_t{blockIdx.x} * kBlockRows + threadIdx.x / 8;
  const uint8_t* from = static_cast<const uint8_t*>(a.w.data) + min(n, a.w.n - 1) * dtypeRowBytes(T, a.w.k);
  float lanes[kM][2] = {};
  for (int64_t k = 0; k < a.w.k; k += kValues, from += kBlock.bytes) {
#pragma unroll 2
    for (int unit = 0; unit < kValues / kUnit; ++unit) {
      const BlockScale scale = blockScale<T>(from, unit);
#pragma unroll
      for (int v = 2 * t; v < kUnit; v += 16) {
        const int at = unit * kUnit + v;
        const float first = blockValue<T>(blockCode<T>(from, at), scale),
                    second = blockValue<T>(blockCode<T>(from, at + 1), scale);
#pragma unroll
        for (int i = 0; i < kM; ++i) {
          const float* x = a.x + min(int64_t{i}, a.m - 1) * a.xStride + k + at;
          lanes[i][0] = fmaf(x[0], first, lanes[i][0]);
          lanes[i][1] = fmaf(x[1], second, lanes[i][1]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kM; ++i) {  // the tree: lanes 8, 4 and 2 apart lie 4, 2 and 1 threads apart
    float low = lanes[i][0], high = lanes[i][1];
#pragma unroll
    for (int step = 4; step > 0; step /= 2) {
      low = low + __shfl_xor_sync(kWholeWarp, low, step);
      high = high + __shfl_xor_sync(kWholeWarp, high, step);
    }
    if (t == i && n < a.w.n && i < a.m) a.y[i * a.yStride + n] = finished<T>(low + high, nullptr, a.bias, n);
  }
}

template <DType T, int kM>
int32_t launchBlocks(void* stream, const MatmulArgs& a) {
  return launch(matmulBlocksKernel<T, kM>, (a.w.n + kBlockRows - 1) / kBlockRows, kBlockThreads, 0, stream, a);
}

template <DType T>
int32_t matmulBlocksFew(void* stream, const MatmulArgs& a) {
  if (a.m == 1) return launchBlocks<T, 1>(stream, a);
  return a.m <= 4 ? launchBlocks<T, 4>(stream, a) : launchBlocks<T, 8>(stream, a);
}

}  // namespace kvlab::kernels::cuda
