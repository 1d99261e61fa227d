// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/matmul.h"

#include "kernels/cpu/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/matmul.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/dot_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kBlock = 48;            // outputs per side of a block; multiple of the tile sides
constexpr int64_t kDepth = 512;           // elements of k per slice
constexpr int64_t kWorkPerTask = 131072;  // multiply-adds worth handing to another thread
constexpr int64_t kStreamRows = 4;        // up to here weights are streamed instead of packed

// Few rows: each weight is read once, converted in registers and used for all M rows.

template <DType T, int M, int N>
HWY_INLINE void streamStep(const float* x, int64_t xStride, const uint8_t* w, int64_t wStride,
                           VF (&c)[M][N][kGroups]) {
  const DF d;
  KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g) {
    KVLAB_UNROLL for (int j = 0; j < N; ++j) {
      const VF wj = loadAs<T>(d, w + j * wStride + g * kLanes * dtypeBytes(T));
      KVLAB_UNROLL for (int i = 0; i < M; ++i) {
        c[i][j][g] = mulAdd(hn::LoadU(d, x + i * xStride + g * kLanes), wj, c[i][j][g]);
      }
    }
  }
}

/// The last k mod 16 elements, padded with zeros.
template <DType T, int M, int N>
HWY_INLINE void streamTail(const MatmulArgs& a, const uint8_t* w, int64_t k0,
                           VF (&c)[M][N][kGroups]) {
  constexpr int64_t kBytes = dtypeBytes(T);
  alignas(64) float xs[M * 16] = {};
  alignas(64) uint8_t ws[N * 64] = {};
  const auto left = static_cast<size_t>(a.k - k0);
  for (int i = 0; i < M; ++i) memcpy(xs + i * 16, a.x + i * a.xStride + k0, left * 4);
  for (int j = 0; j < N; ++j) {
    memcpy(ws + j * 64, w + (j * a.k + k0) * kBytes, left * static_cast<size_t>(kBytes));
  }
  streamStep<T, M, N>(xs, 16, ws, 64, c);
}

template <DType T, int M, int N>
HWY_INLINE void streamTile(const MatmulArgs& a, int64_t j0) {
  constexpr int64_t kBytes = dtypeBytes(T);
  const DF d;
  const uint8_t* w = static_cast<const uint8_t*>(a.w) + j0 * a.k * kBytes;
  VF c[M][N][kGroups];
  KVLAB_UNROLL for (int i = 0; i < M; ++i) {
    KVLAB_UNROLL for (int j = 0; j < N; ++j) {
      KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g) c[i][j][g] = hn::Zero(d);
    }
  }
  const int64_t whole = a.k / kVirtualLanes * kVirtualLanes;
  for (int64_t k = 0; k < whole; k += kVirtualLanes) {
    streamStep<T, M, N>(a.x + k, a.xStride, w + k * kBytes, a.k * kBytes, c);
  }
  if (whole < a.k) streamTail<T, M, N>(a, w, whole, c);
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      const float bias = a.bias ? a.bias[j0 + j] : 0.0f;
      const float sum = reduceGroups(c[i][j]);
      a.y[i * a.yStride + j0 + j] = a.bias ? sum + bias : sum;
    }
  }
}

template <DType T, int M>
HWY_INLINE void streamColumns(const MatmulArgs& a, int64_t from, int64_t to) {
  constexpr int kColumns = M == 1 ? 4 : M == 2 ? 2 : 1;
  int64_t j = from;
  for (; j + kColumns <= to; j += kColumns) streamTile<T, M, kColumns>(a, j);
  for (; j < to; ++j) streamTile<T, M, 1>(a, j);
}

template <DType T>
void streamRows(const MatmulArgs& a, int64_t from, int64_t to) {
  switch (a.m) {
    case 1: return streamColumns<T, 1>(a, from, to);
    case 2: return streamColumns<T, 2>(a, from, to);
    case 3: return streamColumns<T, 3>(a, from, to);
    default: return streamColumns<T, 4>(a, from, to);
  }
}

template <DType T>
void matmulStreamed(ThreadPool& pool, const MatmulArgs& a) {
  const int64_t smallest = kWorkPerTask / std::max<int64_t>(1, a.m * a.k);
  const int64_t share = a.n / (4 * pool.threads());
  const int64_t grain = (std::max(smallest, share) + 3) / 4 * 4;
  pool.parallelFor(0, a.n, grain, [&](int64_t from, int64_t to, int) { streamRows<T>(a, from, to); });
}

// Many rows: blocks of kBlock x kBlock outputs, both operands packed to f32 slices of kDepth.

struct Workspace {
  float x[kBlock * kDepth];
  float w[kBlock * kDepth];
  float carry[kBlock * kBlock * 16];
};

template <DType T>
HWY_INLINE void pack(const uint8_t* from, int64_t fromStride, int64_t rows, int64_t count,
                     int64_t padded, float* to) {
  for (int64_t r = 0; r < rows; ++r, from += fromStride, to += padded) {
    readRow<T>(from, to, count);
    for (int64_t k = count; k < padded; ++k) to[k] = 0.0f;
  }
}

HWY_INLINE void addBias(const MatmulArgs& a, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  if (!a.bias) return;
  for (int64_t i = i0; i < i1; ++i) {
    for (int64_t j = j0; j < j1; ++j) a.y[i * a.yStride + j] += a.bias[j];
  }
}

template <DType T>
void matmulBlock(const MatmulArgs& a, int64_t i0, int64_t j0, Workspace& s) {
  const int64_t m = std::min(kBlock, a.m - i0), n = std::min(kBlock, a.n - j0);
  const auto* x = reinterpret_cast<const uint8_t*>(a.x + i0 * a.xStride);
  const uint8_t* w = static_cast<const uint8_t*>(a.w) + j0 * a.k * dtypeBytes(T);
  for (int64_t k = 0; k < a.k; k += kDepth) {
    const int64_t count = std::min(kDepth, a.k - k);
    const int64_t padded = (count + 15) / 16 * 16;
    pack<DType::f32>(x + k * 4, a.xStride * 4, m, count, padded, s.x);
    pack<T>(w + k * dtypeBytes(T), a.k * dtypeBytes(T), n, count, padded, s.w);
    panelProduct({.x = s.x, .xStride = padded, .m = m, .w = s.w, .wStride = padded, .n = n,
                  .k16 = padded, .carry = a.k > kDepth ? s.carry : nullptr, .carryStride = kBlock,
                  .first = k == 0, .last = k + kDepth >= a.k,
                  .y = a.y + i0 * a.yStride + j0, .yStride = a.yStride});
  }
  addBias(a, i0, i0 + m, j0, j0 + n);
}

template <DType T>
void matmulBlocked(ThreadPool& pool, const MatmulArgs& a) {
  const int64_t rows = (a.m + kBlock - 1) / kBlock, cols = (a.n + kBlock - 1) / kBlock;
  const int64_t work = std::min(a.m, kBlock) * std::min(a.n, kBlock) * a.k;
  const int64_t grain = std::max<int64_t>(1, kWorkPerTask / std::max<int64_t>(1, work));
  pool.parallelFor(0, rows * cols, grain, [&](int64_t from, int64_t to, int worker) {
    auto& s = *reinterpret_cast<Workspace*>(pool.scratch(worker, sizeof(Workspace)));
    for (int64_t t = from; t < to; ++t) matmulBlock<T>(a, t % rows * kBlock, t / rows * kBlock, s);
  });
}

}  // namespace

void matmulTarget(ThreadPool& pool, const MatmulArgs& a) {
  withDType(a.wType, [&](auto type) {
    if (a.m <= kStreamRows) {
      matmulStreamed<type()>(pool, a);
    } else {
      matmulBlocked<type()>(pool, a);
    }
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {
HWY_EXPORT(matmulTarget);

void matmul(const Context& context, const MatmulArgs& args) {
  MatmulArgs a = args;
  if (a.m <= 0 || a.n <= 0) return;
  if (a.xStride == 0) a.xStride = a.k;
  if (a.yStride == 0) a.yStride = a.n;
  HWY_DYNAMIC_DISPATCH(matmulTarget)(*context.pool, a);
}

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
