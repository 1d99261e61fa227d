// SPDX-License-Identifier: Apache-2.0
// A whole linear step of up to eight rows in one kernel: norm, up to three matrices, bias, gate or residual.
// Bound by the bandwidth of the weights. Every block keeps x in shared memory, after the norm, which it works
// out itself while its first weights are on their way. Every warp streams units of output rows through a ring
// of its own, so that warps wait for nobody; eight neighbouring threads own an output row and each two of its
// 16 virtual lanes. Neighbouring units belong to different blocks: the last ones spread over the device.
#pragma once

#include "kernels/cuda/linear/linear_parts.h"
#include "kernels/cuda/runtime/async_copy.h"

namespace kvlab::kernels::cuda {

template <DType T, int kM>
class LinearRows {
  using S = LinearShape<T, kM>;

 public:
  __device__ LinearRows(const LinearArgs& args, const LinearPlan& plan)
      : a(args),
        m_plan(plan),
        m_thread(static_cast<int>(threadIdx.x)),
        m_lane(m_thread % 32),
        m_stride(static_cast<int>(gridDim.x * (blockDim.x / 32))),
        m_factors(dynamicShared<float>()),
        m_x(m_factors + S::kFactorBytes / 4),
        m_ring(reinterpret_cast<uint8_t*>(m_x + kM * plan.xStride) + m_thread / 32 * S::kRingBytes) {}

  __device__ void run() {
    const int first = static_cast<int>(static_cast<unsigned>(m_thread / 32) * gridDim.x + blockIdx.x);
    aim(first);
    for (int i = 0; i < S::kStages - 1; ++i) fetch();
    bringX();
    constexpr int kSteps = S::kDepth / 16;
    const int steps = m_plan.xStride / 16;
    int slot = 0;
    for (int unit = first; unit < m_plan.units; unit += m_stride) {
      for (int step = 0; step < steps; step += kSteps) {
        waitCopies<S::kStages - 2>();
        __syncwarp();  // the tile is there for the warp, and none of it reads the one before
        fetch();
        multiply(m_ring + slot * S::kTileBytes, m_x + step * 16, min(kSteps, steps - step));
        slot = slot + 1 == S::kStages ? 0 : slot + 1;
      }
      finish(unit);
    }
  }

 private:
  struct Place {
    int part;
    int64_t row;  ///< first one
  };

  __device__ Place placeOf(int unit) const {
    if (m_plan.gated) return {0, int64_t{unit} * (S::kRows / 2)};
    const int part = unit < m_plan.ends[0] ? 0 : unit < m_plan.ends[1] ? 1 : 2;
    const int first = m_plan.ends[0], second = m_plan.ends[1], before = part == 0 ? 0 : part == 1 ? first : second;
    return {part, int64_t{unit - before} * S::kRows};
  }
  // Selected, not indexed: an index would bring the arguments to local memory.
  template <class Pick>
  __device__ __forceinline__ auto of(int part, const Pick& pick) const {
    const auto first = pick(a.parts[0]), second = pick(a.parts[1]), third = pick(a.parts[2]);
    return part == 0 ? first : part == 1 ? second : third;
  }
  __device__ __forceinline__ int64_t outputs(int part) const {
    return of(part, [](const LinearPart& one) { return one.w.n; });
  }

  // --- weights ---

  /// Row r of a tile belongs to threads of group r % 4. Groups 0 and 1 read from m_low, the others from m_high.
  __device__ void aim(int unit) {
    m_fetchUnit = unit;
    m_fetchAt = 0;
    if (unit >= m_plan.units) return;
    const Place p = placeOf(unit);
    const int64_t rowBytes = a.k() * S::kValueBytes, from = p.row * rowBytes;
    m_low = static_cast<const uint8_t*>(of(p.part, [](const LinearPart& one) { return one.w.data; })) + from;
    m_high = m_plan.gated ? static_cast<const uint8_t*>(a.parts[1].w.data) + from : m_low + 2 * rowBytes;
    m_leftLow = static_cast<int>(min(outputs(p.part) - p.row, int64_t{S::kRows}));
    m_leftHigh = m_plan.gated ? m_leftLow : m_leftLow - 2;
  }

  struct Chunk {
    const uint8_t* row;
    int64_t rowBytes;  ///< 0: there is no such row
  };
  __device__ Chunk chunkOfRow(int r) const {
    const bool high = r % 4 >= 2;
    const int row = r % 2 + r / 4 * (m_plan.gated ? 2 : 4);
    const int64_t rowBytes = a.k() * S::kValueBytes;
    if (row >= (high ? m_leftHigh : m_leftLow)) return {m_low, 0};
    return {(high ? m_high : m_low) + row * rowBytes, rowBytes};
  }

  /// Starts the copies of the next tile; closes a group even where there is none, so that waits can count.
  __device__ void fetch() {
    if (m_fetchUnit < m_plan.units) {
      const int64_t at = m_fetchAt + m_lane * 16;
      uint8_t* to = m_ring + m_fetchSlot * S::kTileBytes + m_lane * 16;
      if (m_plan.wAligned) fetchAligned(to, at);
      else fetchAnywhere(to, at);
      m_fetchAt += S::kRowBytes;
      if (m_fetchAt >= a.k() * S::kValueBytes) aim(m_fetchUnit + m_stride);
      m_fetchSlot = m_fetchSlot + 1 == S::kStages ? 0 : m_fetchSlot + 1;
    }
    commitCopies();
  }

  __device__ void fetchAligned(uint8_t* to, int64_t at) const {
#pragma unroll
    for (int r = 0; r < S::kRows; ++r) {
      const Chunk c = chunkOfRow(r);
      const int64_t valid = min(max(c.rowBytes - at, int64_t{0}), int64_t{16});
      copyAsync16(to + r * S::kRowStride, valid > 0 ? c.row + at : c.row, static_cast<uint32_t>(valid));
    }
  }

  __device__ void fetchAnywhere(uint8_t* to, int64_t at) const {
#pragma unroll 1
    for (int r = 0; r < S::kRows; ++r) {
      const Chunk c = chunkOfRow(r);
      *reinterpret_cast<uint4*>(to + r * S::kRowStride) = chunkOf(c.row, at, c.rowBytes, false);
    }
  }

  // --- x ---

  __device__ void bringX() {
    for (int i = 0; i < kM; ++i) {
      float* to = m_x + i * m_plan.xStride;
      const int count = i < a.m ? static_cast<int>(a.k()) : 0;  // behind it zeros
      if (m_plan.xAligned) {
        const auto* from = reinterpret_cast<const float4*>(a.x + i * a.k());
#pragma unroll 4
        for (int c = m_thread; c < m_plan.xStride / 4; c += static_cast<int>(blockDim.x))
          reinterpret_cast<float4*>(to)[c] = 4 * c < count ? from[c] : make_float4(0, 0, 0, 0);
      } else {
        for (int c = m_thread; c < m_plan.xStride; c += static_cast<int>(blockDim.x))
          to[c] = c < count ? a.x[i * a.k() + c] : 0.0f;
      }
    }
    __syncthreads();
    if (a.normWeight) normalise();
  }

  /// rmsnorm.cu, on shared memory: 16 threads for a row's sum of squares, all of them for its values.
  __device__ void normalise() {
    const int threads = static_cast<int>(blockDim.x), k = static_cast<int>(a.k());
    for (int i = m_thread / 16; i < a.m; i += threads / 16) {
      const float* x = m_x + i * m_plan.xStride;
      float lane = 0.0f;
#pragma unroll 16
      for (int at = m_thread % 16; at < m_plan.xStride; at += 16) lane = fmaf(x[at], x[at], lane);
      const float sum = treeOverThreads(0xffffu << (m_thread & 16), lane);
      if (m_thread % 16 == 0) m_factors[i] = 1.0f / sqrtf(sum / static_cast<float>(a.k()) + a.eps);
    }
    __syncthreads();
    for (int at = m_thread; at < k; at += threads) {
      const float weight = valueOf(a.normWeight, at, a.normType) + a.normOffset;
      for (int i = 0; i < a.m; ++i) m_x[i * m_plan.xStride + at] = m_x[i * m_plan.xStride + at] * m_factors[i] * weight;
    }
    __syncthreads();
  }

  // --- products ---

  __device__ void multiply(const uint8_t* tile, const float* shared, int steps) {
    const int t = m_lane % 8;
    const uint8_t* w = tile + m_lane / 8 * S::kRowStride;
    const auto* x = reinterpret_cast<const float2*>(shared) + t;
#pragma unroll S::kUnroll
    for (int s = 0; s < steps; ++s) {
      float2 ws[S::kPerGroup];
#pragma unroll
      for (int j = 0; j < S::kPerGroup; ++j) ws[j] = pairOf<T>(w + j * 4 * S::kRowStride, s * 8 + t);
#pragma unroll
      for (int i = 0; i < kM; ++i) {
        const float2 xi = x[i * (m_plan.xStride / 2) + s * 8];
#pragma unroll
        for (int j = 0; j < S::kPerGroup; ++j) {
          m_lanes[i][j][0] = fmaf(xi.x, ws[j].x, m_lanes[i][j][0]);
          m_lanes[i][j][1] = fmaf(xi.y, ws[j].y, m_lanes[i][j][1]);
        }
      }
    }
  }

  /// The tree (lanes 8, 4 and 2 apart lie 4, 2 and 1 threads apart) and the work behind the matrices.
  __device__ void finish(int unit) {
    const Place p = placeOf(unit);
    const int group = m_lane / 8, part = m_plan.gated ? group / 2 : p.part;
    const int64_t n = outputs(part);
    const float* bias = of(part, [](const LinearPart& one) { return one.bias; });
    const float* scales = of(part, [](const LinearPart& one) { return one.w.scales; });
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int j = 0; j < S::kPerGroup; ++j) {
        float low = m_lanes[i][j][0], high = m_lanes[i][j][1];
        m_lanes[i][j][0] = m_lanes[i][j][1] = 0.0f;
#pragma unroll
        for (int step = 4; step > 0; step /= 2) {
          low = low + __shfl_xor_sync(kWholeWarp, low, step);
          high = high + __shfl_xor_sync(kWholeWarp, high, step);
        }
        const int64_t row = p.row + (m_plan.gated ? group % 2 + 2 * j : group + 4 * j);
        float y = low + high;
        if (row < n) y = finished<T>(y, scales, bias, row);
        if (m_plan.gated)
          y = swigluOf(y, __shfl_xor_sync(kWholeWarp, y, 16), a.function);  // the lower half has the gate
        if (m_lane % 8 == (i * S::kPerGroup + j) % 8 && row < n && i < a.m && (!m_plan.gated || group < 2))
          store(part, i * n + row, y);
      }
  }

  __device__ void store(int part, int64_t at, float y) {
    if (!a.out) of(part, [](const LinearPart& one) { return one.y; })[at] = y;
    else a.out[at] = a.residual ? a.residual[at] + y : y;
  }

  const LinearArgs& a;
  const LinearPlan& m_plan;
  const int m_thread, m_lane, m_stride;  ///< stride: units between two of this warp
  float *const m_factors, *const m_x;    ///< [kM]; [kM, xStride]
  uint8_t* const m_ring;
  int m_fetchUnit = 0, m_fetchSlot = 0, m_leftLow = 0, m_leftHigh = 0;  ///< left: rows from m_low, m_high
  int64_t m_fetchAt = 0;                                                ///< byte of the rows
  const uint8_t *m_low = nullptr, *m_high = nullptr;
  float m_lanes[kM][S::kPerGroup][2] = {};
};

template <DType T, int kM>
__global__ void __launch_bounds__(256, 1) linearKernel(LinearArgs a, LinearPlan plan) {
  LinearRows<T, kM>(a, plan).run();
}

template <DType T, int kM>
bool launchLinear(void* stream, const LinearArgs& a, int32_t* error) {
  DeviceShape device;
  if (askForShape(&device) != cudaSuccess) return false;
  const LinearPlan plan = linearPlan<T, kM>(a, device);
  if (plan.warps == 0) return false;
  int perMultiprocessor = 0;
  *error = occupancy(linearKernel<T, kM>, plan.warps * 32, plan.sharedBytes, &perMultiprocessor);
  const int64_t blocks = std::min<int64_t>((plan.units + plan.warps - 1) / plan.warps,
                                           std::max(perMultiprocessor, 1) * device.multiprocessors);
  if (*error == 0)
    *error =
        launch(linearKernel<T, kM>, blocks, static_cast<unsigned>(plan.warps * 32), plan.sharedBytes, stream, a, plan);
  return true;
}

template <DType T>
bool linearFew(void* stream, const LinearArgs& a, int32_t* error) {
  if (a.m == 1) return launchLinear<T, 1>(stream, a, error);
  if (a.m == 2) return launchLinear<T, 2>(stream, a, error);
  return a.m <= 4 ? launchLinear<T, 4>(stream, a, error) : launchLinear<T, 8>(stream, a, error);
}

}  // namespace kvlab::kernels::cuda
