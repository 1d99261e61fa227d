// SPDX-License-Identifier: Apache-2.0
// Multiplies up to eight rows of x, at the bandwidth of the weights. Eight neighbouring threads own an output
// row, and each thread owns two of its 16 virtual lanes; a block owns 16 or 32 rows. Weights and x go to shared
// memory unconverted, several stages ahead. Shared rows are padded by one step of 16 values, so that the four
// rows that a warp reads lie in different banks.
#pragma once

#include "kernels/cuda/linear/matmul_parts.h"
#include "kernels/cuda/runtime/async_copy.h"

namespace kvlab::kernels::cuda {

template <DType T, int kM>
struct FewShape {
  static constexpr int kThreads = 128, kValueBytes = static_cast<int>(dtypeBytes(T));
  static constexpr int kPerGroup = kM >= 4 ? 2 : 1;  ///< output rows of eight threads
  static constexpr int kRows = kThreads / 8 * kPerGroup;
  static constexpr int kRowBytes = 512, kDepth = kRowBytes / kValueBytes;  ///< weight row in a stage: bytes, values
  static constexpr int kRowStride = kRowBytes + 16 * kValueBytes;
  static constexpr int kXBytes = kM * kDepth * 4, kStageBytes = kRows * kRowStride + kXBytes;
  static constexpr int kStages = kM >= 4 ? 4 : 6;
  static constexpr int kUnroll = kM >= 4 ? 2 : 8;  ///< steps of 16 values
};

template <DType T, int kM>
class FewRows {
  using S = FewShape<T, kM>;

 public:
  __device__ FewRows(const MatmulArgs& args, bool wAligned, bool xAligned)
      : a(args),
        m_wAligned(wAligned),
        m_xAligned(xAligned),
        m_shared(dynamicShared<uint8_t>()),
        m_first(int64_t{blockIdx.x} * S::kRows),
        m_thread(static_cast<int>(threadIdx.x)) {}

  __device__ void run() {
    const int64_t steps = (a.w.k + 15) / 16;
    constexpr int64_t kSteps = S::kDepth / 16;
    const int64_t tiles = (steps + kSteps - 1) / kSteps;
    for (int tile = 0; tile < S::kStages - 1; ++tile) fetch(tile, tiles);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      waitCopies<S::kStages - 2>();
      __syncthreads();  // the tile is there for everybody, and nobody reads the one before
      fetch(tile + S::kStages - 1, tiles);
      multiply(stage(tile), static_cast<int>(min(kSteps, steps - tile * kSteps)));
    }
    finish();
  }

 private:
  __device__ uint8_t* stage(int64_t tile) const { return m_shared + tile % S::kStages * S::kStageBytes; }

  /// Starts the copies of a tile; closes a group even where there is none, so that waits can count.
  __device__ void fetch(int64_t tile, int64_t tiles) {
    if (tile < tiles) {
      fetchWeights(stage(tile), tile * S::kRowBytes);
      fetchX(stage(tile) + S::kRows * S::kRowStride, tile * S::kDepth * 4);
    }
    commitCopies();
  }

  __device__ void fetchWeights(uint8_t* to, int64_t from) {
    const int64_t rowBytes = a.w.k * S::kValueBytes;
#pragma unroll
    for (int c = m_thread; c < S::kRows * (S::kRowBytes / 16); c += S::kThreads) {
      const int row = c / (S::kRowBytes / 16), at = c % (S::kRowBytes / 16) * 16;
      const int64_t n = min(m_first + row, a.w.n - 1);  // rows behind the last are not stored
      fetchChunk(to + row * S::kRowStride + at, static_cast<const uint8_t*>(a.w.data) + n * rowBytes, from + at,
                 rowBytes, m_wAligned);
    }
  }

  __device__ void fetchX(uint8_t* to, int64_t from) {
#pragma unroll
    for (int c = m_thread; c < S::kXBytes / 16; c += S::kThreads) {
      const int row = c / (S::kDepth / 4), at = c % (S::kDepth / 4) * 16;
      const int64_t m = min(int64_t{row}, a.m - 1);
      fetchChunk(to + row * S::kDepth * 4 + at, reinterpret_cast<const uint8_t*>(a.x + m * a.xStride), from + at,
                 a.w.k * 4, m_xAligned);
    }
  }

  __device__ static void fetchChunk(uint8_t* to, const uint8_t* row, int64_t at, int64_t rowBytes, bool aligned) {
    if (aligned) {
      const int64_t valid = min(max(rowBytes - at, int64_t{0}), int64_t{16});
      copyAsync16(to, valid > 0 ? row + at : row, static_cast<uint32_t>(valid));
    } else {
      *reinterpret_cast<uint4*>(to) = chunkOf(row, at, rowBytes, false);
    }
  }

  __device__ void multiply(const uint8_t* tile, int steps) {
    const int t = m_thread % 8;
    const uint8_t* w = tile + m_thread / 8 * S::kRowStride;
    const auto* x = reinterpret_cast<const float2*>(tile + S::kRows * S::kRowStride) + t;
#pragma unroll S::kUnroll
    for (int s = 0; s < steps; ++s) {
      float2 ws[S::kPerGroup];
#pragma unroll
      for (int r = 0; r < S::kPerGroup; ++r) ws[r] = pairOf<T>(w + r * (S::kThreads / 8) * S::kRowStride, s * 8 + t);
#pragma unroll
      for (int i = 0; i < kM; ++i) {
        const float2 xi = x[i * (S::kDepth / 2) + s * 8];
#pragma unroll
        for (int r = 0; r < S::kPerGroup; ++r) {
          m_lanes[i][r][0] = fmaf(xi.x, ws[r].x, m_lanes[i][r][0]);
          m_lanes[i][r][1] = fmaf(xi.y, ws[r].y, m_lanes[i][r][1]);
        }
      }
    }
  }

  /// The tree: lanes 8, 4 and 2 apart lie 4, 2 and 1 threads apart.
  __device__ void finish() {
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int r = 0; r < S::kPerGroup; ++r) {
        float low = m_lanes[i][r][0], high = m_lanes[i][r][1];
#pragma unroll
        for (int step = 4; step > 0; step /= 2) {
          low = low + __shfl_xor_sync(kWholeWarp, low, step);
          high = high + __shfl_xor_sync(kWholeWarp, high, step);
        }
        const int64_t n = m_first + m_thread / 8 + r * (S::kThreads / 8);
        if (m_thread % 8 != (i * S::kPerGroup + r) % 8 || n >= a.w.n || i >= a.m) continue;
        a.y[i * a.yStride + n] = finished<T>(low + high, a.w.scales, a.bias, n);
      }
  }

  const MatmulArgs& a;
  const bool m_wAligned, m_xAligned;
  uint8_t* const m_shared;
  const int64_t m_first;  ///< output row
  const int m_thread;
  float m_lanes[kM][S::kPerGroup][2] = {};
};

template <DType T, int kM>
__global__ void __launch_bounds__(128) matmulFewKernel(MatmulArgs a, bool wAligned, bool xAligned) {
  FewRows<T, kM>(a, wAligned, xAligned).run();
}

template <DType T, int kM>
int32_t launchFew(void* stream, const MatmulArgs& a) {
  using S = FewShape<T, kM>;
  return launch(matmulFewKernel<T, kM>, (a.w.n + S::kRows - 1) / S::kRows, S::kThreads, S::kStages * S::kStageBytes,
                stream, a, startsAt16(a.w.data, a.w.k * dtypeBytes(T)),
                startsAt16(a.x, (a.m == 1 ? a.w.k : a.xStride) * 4));
}

template <DType T>
bool matmulFewFits(const MatmulArgs& a, int64_t limit) {
  using S = FewShape<T, static_cast<int>(kFewRows)>;
  using One = FewShape<T, 2>;
  return a.m <= kFewRows && (a.m <= 2 ? One::kStages * One::kStageBytes : S::kStages * S::kStageBytes) <= limit;
}

template <DType T>
int32_t matmulFew(void* stream, const MatmulArgs& a) {
  if (a.m == 1) return launchFew<T, 1>(stream, a);
  if (a.m == 2) return launchFew<T, 2>(stream, a);
  return a.m <= 4 ? launchFew<T, 4>(stream, a) : launchFew<T, 8>(stream, a);
}

}  // namespace kvlab::kernels::cuda
