// SPDX-License-Identifier: Apache-2.0
// For many rows of x: a block computes 32 x 64 outputs. Lanes never meet before the tree, so threads share them
// out: 16 threads own 8 x 16 outputs, and each thread owns one lane of all these outputs, which is 128 sums in
// registers for 24 values from shared memory. The next tile of both operands waits in registers while the present
// tile is in use; weights become f32 on their way to shared memory. Weights in blocks do not wait in registers: a
// thread reads 16 values of a unit when it stores them.
#pragma once

#include "kernels/block_codes.h"
#include "kernels/cuda/linear/matmul_parts.h"

namespace kvlab::kernels::cuda {

/// Sums of 16 lanes over 16 threads: a thread that is `kStep` lanes above its partner takes the upper half of
/// the outputs, the other the lower half. In the end thread t holds the sums [t * count / 16, ...).
template <int kCount, int kStep = 8>
__device__ __forceinline__ void foldLanes(float* sums, int lane) {
  const bool upper = (lane & kStep) != 0;
#pragma unroll
  for (int i = 0; i < kCount / 2; ++i) {
    const float given = upper ? sums[i] : sums[i + kCount / 2];
    const float mine = upper ? sums[i + kCount / 2] : sums[i];
    sums[i] = mine + __shfl_xor_sync(kWholeWarp, given, kStep);
  }
  if constexpr (kStep > 1) foldLanes<kCount / 2, kStep / 2>(sums, lane);
}

template <DType T>
class MatmulTile {
 public:
  static constexpr int kThreads = 256, kM = 32, kN = 64, kDepth = 64;
  static constexpr int kStride = kDepth + 16;  ///< floats; rows that a warp reads together lie half the banks apart
  static constexpr int kBufferFloats = (kM + kN) * kStride;
  static constexpr int kSharedBytes = 2 * kBufferFloats * 4;

  __device__ MatmulTile(const MatmulArgs& args, bool wAligned, bool xAligned)
      : a(args),
        m_wAligned(wAligned),
        m_xAligned(xAligned),
        m_shared(dynamicShared<float>()),
        m_row(int64_t{blockIdx.x} * kM),
        m_column(int64_t{blockIdx.y} * kN),
        m_thread(static_cast<int>(threadIdx.x)) {}

  __device__ void run() {
    const int64_t steps = (a.w.k + 15) / 16;
    constexpr int64_t kSteps = kDepth / 16;
    const int64_t tiles = (steps + kSteps - 1) / kSteps;
    if (tiles > 0) {
      load(0);
      store(m_shared, 0);
    }
    for (int64_t tile = 0; tile < tiles; ++tile) {
      __syncthreads();  // this tile is complete, and nobody reads the other buffer
      if (tile + 1 < tiles) load(tile + 1);
      multiply(m_shared + tile % 2 * kBufferFloats, static_cast<int>(min(kSteps, steps - tile * kSteps)));
      if (tile + 1 < tiles) store(m_shared + (tile + 1) % 2 * kBufferFloats, tile + 1);
    }
    finish();
  }

 private:
  static constexpr int kRows = 8, kColumns = 16;  ///< tile of outputs of 16 threads
  static constexpr bool kBlocks = dtypeInBlocks(T);
  static constexpr int kValueBytes = static_cast<int>(dtypeBytes(T)), kPerChunk = 16 / (kBlocks ? 1 : kValueBytes);
  static constexpr int kXChunks = kM * kDepth / 4 / kThreads, kWChunks = kN * kDepth / kPerChunk / kThreads;

  // The place of chunk c of this thread: row of the tile, value in it.
  __device__ int xRow(int c) const { return (m_thread + c * kThreads) / (kDepth / 4); }
  __device__ int xAt(int c) const { return (m_thread + c * kThreads) % (kDepth / 4) * 4; }
  __device__ int wRow(int c) const { return (m_thread + c * kThreads) / (kDepth / kPerChunk); }
  __device__ int wAt(int c) const { return (m_thread + c * kThreads) % (kDepth / kPerChunk) * kPerChunk; }

  __device__ void load(int64_t tile) {
    const int64_t k = tile * kDepth, rowBytes = a.w.k * kValueBytes;
#pragma unroll
    for (int c = 0; c < kXChunks; ++c) {
      const auto* row = reinterpret_cast<const uint8_t*>(a.x + min(m_row + xRow(c), a.m - 1) * a.xStride);
      m_x[c] = chunkOf(row, (k + xAt(c)) * 4, a.w.k * 4, m_xAligned);
    }
#pragma unroll
    for (int c = 0; c < kWChunks && !kBlocks; ++c) {
      const auto* row = static_cast<const uint8_t*>(a.w.data) + min(m_column + wRow(c), a.w.n - 1) * rowBytes;
      m_w[c] = chunkOf(row, (k + wAt(c)) * kValueBytes, rowBytes, m_wAligned);
    }
  }

  __device__ void store(float* to, int64_t tile) const {
#pragma unroll
    for (int c = 0; c < kXChunks; ++c) *reinterpret_cast<uint4*>(to + xRow(c) * kStride + xAt(c)) = m_x[c];
#pragma unroll
    for (int c = 0; c < kWChunks; ++c) {
      float* at = to + (kM + wRow(c)) * kStride + wAt(c);
      if constexpr (kBlocks) storeBlocks(at, wRow(c), tile * kDepth + wAt(c));
      else storeWeights(at, m_w[c]);
    }
  }

  /// Sixteen values of a unit from value k of a row on.
  __device__ void storeBlocks(float* to, int row, int64_t k) const {
    if (k >= a.w.k) return;  // nobody multiplies values behind the last step
    constexpr DTypeBlock kBlock = dtypeBlock(T);
    const auto* from = static_cast<const uint8_t*>(a.w.data) +
        min(m_column + row, a.w.n - 1) * dtypeRowBytes(T, a.w.k) + k / kBlock.values * kBlock.bytes;
    const int first = static_cast<int>(k % kBlock.values);
    const BlockScale scale = blockScale<T>(from, first / static_cast<int>(blockForm(T).unit));
#pragma unroll 4
    for (int i = 0; i < 16; ++i) to[i] = blockValue<T>(blockCode<T>(from, first + i), scale);
  }

  __device__ static void storeWeights(float* to, const uint4& bits) {
    if constexpr (T == DType::f32) {
      *reinterpret_cast<uint4*>(to) = bits;
    } else if constexpr (T == DType::i8) {
      const uint32_t words[] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const auto code = [&](int byte) { return static_cast<float>(static_cast<int8_t>(words[i] >> (8 * byte))); };
        reinterpret_cast<float4*>(to)[i] = make_float4(code(0), code(1), code(2), code(3));
      }
    } else {
      const auto quad = [](uint32_t low, uint32_t high) {
        return make_float4(narrowValue<T>(low & 0xffffu), narrowValue<T>(low >> 16), narrowValue<T>(high & 0xffffu),
                           narrowValue<T>(high >> 16));
      };
      *reinterpret_cast<float4*>(to) = quad(bits.x, bits.y);
      *reinterpret_cast<float4*>(to + 4) = quad(bits.z, bits.w);
    }
  }

  // 16 groups of 16 threads: four times four; the two groups of a warp take columns in turn.
  __device__ int lane() const { return m_thread % 16; }
  __device__ int groupRow() const { return m_thread / 64 * kRows; }
  __device__ int column(int j) const { return m_thread / 32 % 2 * 32 + 2 * j + m_thread / 16 % 2; }

  __device__ void multiply(const float* tile, int steps) {
    const float* x = tile + groupRow() * kStride + lane();
    const float* w = tile + (kM + column(0)) * kStride + lane();
    for (int s = 0; s < steps; ++s) {
      float xs[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) xs[i] = x[i * kStride + s * 16];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const float wj = w[2 * j * kStride + s * 16];
#pragma unroll
        for (int i = 0; i < kRows; ++i) m_sums[i * kColumns + j] = fmaf(xs[i], wj, m_sums[i * kColumns + j]);
      }
    }
  }

  __device__ void finish() {
    foldLanes<kRows * kColumns>(m_sums, lane());  // thread t: row t / 2, half of its columns
    const int64_t i = m_row + groupRow() + lane() / 2;
    if (i >= a.m) return;
#pragma unroll
    for (int j = 0; j < kColumns / 2; ++j) {
      const int64_t n = m_column + column(lane() % 2 * (kColumns / 2) + j);
      if (n < a.w.n) a.y[i * a.yStride + n] = finished<T>(m_sums[j], a.w.scales, a.bias, n);
    }
  }

  const MatmulArgs& a;
  const bool m_wAligned, m_xAligned;
  float* const m_shared;
  const int64_t m_row, m_column;  ///< first of the block
  const int m_thread;
  uint4 m_x[kXChunks], m_w[kBlocks ? 1 : kWChunks];
  float m_sums[kRows * kColumns] = {};
};

template <DType T>
__global__ void __launch_bounds__(MatmulTile<T>::kThreads, 1)
    matmulTiledKernel(MatmulArgs a, bool wAligned, bool xAligned) {
  MatmulTile<T>(a, wAligned, xAligned).run();
}

template <DType T>
int32_t matmulTiled(void* stream, const MatmulArgs& a) {
  using Tile = MatmulTile<T>;
  return launch(matmulTiledKernel<T>, {(a.m + Tile::kM - 1) / Tile::kM, (a.w.n + Tile::kN - 1) / Tile::kN},
                Tile::kThreads, Tile::kSharedBytes, stream, a, startsAt16(a.w.data, a.w.k * dtypeBytes(T)),
                startsAt16(a.x, a.xStride * 4));
}

}  // namespace kvlab::kernels::cuda
