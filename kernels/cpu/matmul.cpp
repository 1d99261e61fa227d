// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/matmul.h"

#include "kernels/cpu/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/matmul.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "kernels/cpu/dot_stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kBlock = 48;            // rows of x at a time and columns of a panel; multiple of the tile sides
constexpr int64_t kDepth = 1024;          // elements of k per slice, about
constexpr int64_t kPanelBytes = 560 << 10;
constexpr int64_t kWorkPerTask = 131072;  // multiply-adds worth handing to another thread

template <DType T>
void matmulStreamed(ThreadPool& pool, const MatmulArgs& a) {
  const int64_t smallest = kWorkPerTask / std::max<int64_t>(1, a.m * a.k);
  const int64_t share = a.n / (4 * pool.threads());
  const int64_t grain = (std::max(smallest, share) + 11) / 12 * 12;
  const int64_t padded = (a.k + 15) / 16 * 16;
  auto* x = reinterpret_cast<float*>(pool.sharedScratch(static_cast<size_t>(a.m * padded) * 4));
  for (int64_t i = 0; i < a.m; ++i) {
    packRow<DType::f32>(reinterpret_cast<const uint8_t*>(a.x + i * a.xStride), a.k, x + i * padded);
  }
  pool.parallelFor(0, a.n, grain, [&](int64_t from, int64_t to, int) { streamRows<T>(a, x, from, to); });
}

// Many rows: a worker converts a panel of weights to f32 once and walks all rows of x with it, kBlock
// at a time. Panel, x and carry fit the second cache, a tile's slice of both operands the first.

struct Panels {
  int64_t depth;    // k padded to 16
  int64_t stride;   // of a row of a panel, off the power of two that rows of x often have
  int64_t slice;    // of k at a time
  int64_t columns;  // of a panel, a multiple of the tile's
  const float* x;   // [m, depth]: the caller's where k needs no padding
  int64_t xStride;
};

HWY_INLINE Panels panelsOf(ThreadPool& pool, const MatmulArgs& a) {
  Panels p{};
  p.depth = (a.k + 15) / 16 * 16;
  p.stride = p.depth + 16;
  const int64_t slices = (p.depth + kDepth - 1) / kDepth;
  p.slice = (p.depth / 16 + slices - 1) / slices * 16;
  const int64_t fitting = kPanelBytes / 4 / p.stride / kTileCols * kTileCols;
  const int64_t share = (a.n / (4 * pool.threads()) + kTileCols - 1) / kTileCols * kTileCols;
  p.columns = std::clamp(std::min(fitting, share), kTileCols, kBlock);
  p.x = a.x;
  p.xStride = a.xStride;
  if (p.depth == a.k) return p;
  auto* padded = reinterpret_cast<float*>(pool.sharedScratch(static_cast<size_t>(a.m * p.depth) * 4));
  for (int64_t i = 0; i < a.m; ++i) {
    std::copy(a.x + i * a.xStride, a.x + i * a.xStride + a.k, padded + i * p.depth);
    std::fill(padded + i * p.depth + a.k, padded + (i + 1) * p.depth, 0.0f);
  }
  p.x = padded;
  p.xStride = p.depth;
  return p;
}

HWY_INLINE void addBias(const MatmulArgs& a, int64_t j0, int64_t n) {
  if (!a.bias) return;
  for (int64_t i = 0; i < a.m; ++i) {
    for (int64_t j = j0; j < j0 + n; ++j) a.y[i * a.yStride + j] += a.bias[j];
  }
}

/// Columns [j0, j0 + n) of y; memory: the panel, then the carry.
template <DType T>
void matmulPanel(const MatmulArgs& a, const Panels& p, int64_t j0, int64_t n, float* panel) {
  const uint8_t* w = static_cast<const uint8_t*>(a.w) + j0 * a.k * dtypeBytes(T);
  for (int64_t j = 0; j < n; ++j) {
    readRow<T>(w + j * a.k * dtypeBytes(T), panel + j * p.stride, a.k);
    std::fill(panel + j * p.stride + a.k, panel + j * p.stride + p.depth, 0.0f);
  }
  float* carry = p.slice < p.depth ? panel + p.columns * p.stride : nullptr;
  for (int64_t i0 = 0; i0 < a.m; i0 += kBlock) {
    for (int64_t k = 0; k < p.depth; k += p.slice) {
      panelProduct({.x = p.x + i0 * p.xStride + k, .xStride = p.xStride, .m = std::min(kBlock, a.m - i0),
                    .w = panel + k, .wStride = p.stride, .n = n, .k16 = std::min(p.slice, p.depth - k),
                    .carry = carry, .first = k == 0, .last = k + p.slice >= p.depth,
                    .y = a.y + i0 * a.yStride + j0, .yStride = a.yStride});
    }
  }
  addBias(a, j0, n);
}

template <DType T>
void matmulBlocked(ThreadPool& pool, const MatmulArgs& a) {
  const Panels p = panelsOf(pool, a);
  const auto bytes = static_cast<size_t>(p.columns * p.stride + kBlock * p.columns * 16) * 4;
  const int64_t work = a.m * p.columns * a.k;
  const int64_t grain = std::max<int64_t>(1, kWorkPerTask / std::max<int64_t>(1, work)) * p.columns;
  pool.parallelFor(0, a.n, grain, [&](int64_t from, int64_t to, int worker) {
    auto* memory = reinterpret_cast<float*>(pool.scratch(worker, bytes));
    for (int64_t j = from; j < to; j += p.columns) matmulPanel<T>(a, p, j, std::min(p.columns, to - j), memory);
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
