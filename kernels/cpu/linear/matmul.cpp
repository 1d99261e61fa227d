// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/matmul.h"

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/linear/matmul.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "kernels/cpu/linear/block_stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kBlock = 48;    // rows of x at a time and columns of a panel; multiple of the tile sides
constexpr int64_t kDepth = 1024;  // elements of k per slice, about
constexpr int64_t kPanelBytes = 560 << 10;
constexpr int64_t kWorkPerTask = 131072;  // multiply-adds worth handing to another thread
constexpr int64_t kFewRows = 8;           // up to so many rows stream the weights
constexpr int64_t kNearColumns = 12;      // columns whose weights stay in the first cache; multiple of the tile sides

/// Columns [from, to) of all rows, kStreamRows at a time while the weights are near. x: packed, `words` of each row.
template <class Values>
HWY_INLINE void streamFew(const MatmulArgs& a, const typename Values::Word* x, int64_t words, int64_t from,
                          int64_t to) {
  if (a.m <= kStreamRows) return streamRows<Values>(a, x, from, to);
  for (int64_t j = from; j < to; j += kNearColumns) {
    for (int64_t i = 0; i < a.m; i += kStreamRows) {
      MatmulArgs part = a;
      part.m = std::min(kStreamRows, a.m - i);
      part.y = a.y + i * a.yStride;
      streamRows<Values>(part, x + i * words, j, std::min(to, j + kNearColumns));
    }
  }
}

template <class Values>
void matmulStreamed(ThreadPool& pool, const MatmulArgs& a) {
  using Word = typename Values::Word;
  constexpr int64_t kStep = 16 * Values::kValues;
  const int64_t smallest = kWorkPerTask / std::max<int64_t>(1, a.m * a.w.k);
  const int64_t share = a.w.n / (4 * pool.threads());
  const int64_t grain = (std::max(smallest, share) + 11) / 12 * 12;
  const int64_t words = (a.w.k + kStep - 1) / kStep * 16;
  auto* x = reinterpret_cast<Word*>(pool.sharedScratch(static_cast<size_t>(a.m * words) * 4));
  for (int64_t i = 0; i < a.m; ++i) packRow<Values>(a.x + i * a.xStride, a.w.k, x + i * words);
  pool.parallelFor(0, a.w.n, grain, [&](int64_t from, int64_t to, int) { streamFew<Values>(a, x, words, from, to); });
}

/// Weights in blocks: up to kStreamRows rows stream them where registers are long enough; otherwise a worker widens
/// kNearColumns of them at a time and streams them from its cache.
template <DType T>
void matmulStreamedBlocks(ThreadPool& pool, const MatmulArgs& a) {
  using Words = Widened<DType::f32>;
  const int64_t grain = std::max(kNearColumns, a.w.n / (4 * pool.threads()) / kNearColumns * kNearColumns);
  const int64_t words = (a.w.k + 15) / 16 * 16, rowBytes = dtypeRowBytes(T, a.w.k);
  auto* x = reinterpret_cast<float*>(pool.sharedScratch(static_cast<size_t>(a.m * words) * 4));
  for (int64_t i = 0; i < a.m; ++i) packRow<Words>(a.x + i * a.xStride, a.w.k, x + i * words);
#ifdef KVLAB_STREAMS_BLOCKS
  if (a.m <= kStreamRows)
    return pool.parallelFor(0, a.w.n, grain,
                            [&](int64_t from, int64_t to, int) { streamBlocks<T>(a, x, words, from, to); });
#endif
  pool.parallelFor(0, a.w.n, grain, [&](int64_t from, int64_t to, int worker) {
    auto* wide = reinterpret_cast<float*>(pool.scratch(worker, static_cast<size_t>(kNearColumns * a.w.k) * 4 + kAhead));
    for (int64_t j = from; j < to; j += kNearColumns) {
      MatmulArgs part = a;
      part.w = {wide, DType::f32, nullptr, std::min(kNearColumns, to - j), a.w.k};
      part.bias = a.bias ? a.bias + j : nullptr;
      part.y = a.y + j;
      widenBlocks<T>(static_cast<const uint8_t*>(a.w.data) + j * rowBytes, wide, part.w.n * a.w.k);
      streamFew<Words>(part, x, words, 0, part.w.n);
    }
  });
}

// Many rows: a worker brings a panel of weights to words once and walks all rows of x with it, kBlock
// at a time. Panel, x and carry fit the second cache, a tile's slice of both operands the first.

template <class Word>
struct Panels {
  int64_t depth;    // words of k, padded to 16
  int64_t stride;   // words between rows of a panel; not the power of two that rows of x often have
  int64_t slice;    // words of k at a time
  int64_t columns;  // columns of a panel, a multiple of the tile's
  const Word* x;    // [m, depth]: the caller's where it can stay as it is
  int64_t xStride;
};

/// Rows of x as words, padded with zeros.
template <class Values>
void packRows(ThreadPool& pool, const MatmulArgs& a, int64_t depth, typename Values::Word* to) {
  constexpr int64_t kStep = kLanes * Values::kValues;
  pool.parallelFor(0, a.m, kWorkPerTask / std::max<int64_t>(1, a.w.k) + 1, [&](int64_t from, int64_t end, int) {
    for (int64_t i = from; i < end; ++i) {
      const float* x = a.x + i * a.xStride;
      for (int64_t k = 0; k < depth * Values::kValues; k += kStep) {
        float tail[kStep] = {};
        if (k + kStep > a.w.k) std::copy(x + std::min(k, a.w.k), x + a.w.k, tail);
        Values::pack(k + kStep > a.w.k ? tail : x + k, to + i * depth + k / Values::kValues);
      }
    }
  });
}

template <class Values>
HWY_INLINE auto panelsOf(ThreadPool& pool, const MatmulArgs& a) {
  using Word = typename Values::Word;
  constexpr int64_t kStep = 16 * Values::kValues;
  Panels<Word> p{};
  p.depth = (a.w.k + kStep - 1) / kStep * 16;
  p.stride = p.depth + 16;
  const int64_t slices = (p.depth + kDepth - 1) / kDepth;
  p.slice = (p.depth / 16 + slices - 1) / slices * 16;
  const int64_t fitting = kPanelBytes / 4 / p.stride / kTileCols * kTileCols;
  const int64_t share = (a.w.n / (4 * pool.threads()) + kTileCols - 1) / kTileCols * kTileCols;
  p.columns = std::clamp(std::min(fitting, share), kTileCols, kBlock);
  if constexpr (!Values::kPacksX) {
    p.x = a.x;
    p.xStride = a.xStride;
    if (p.depth == a.w.k) return p;
  }
  auto* packed = reinterpret_cast<Word*>(pool.sharedScratch(static_cast<size_t>(a.m * p.depth) * 4));
  packRows<Values>(pool, a, p.depth, packed);
  p.x = packed;
  p.xStride = p.depth;
  return p;
}

/// Scales and biases of columns [j0, j0 + n).
HWY_INLINE void finish(const MatmulArgs& a, int64_t j0, int64_t n) {
  if (!a.w.scales && !a.bias) return;
  for (int64_t i = 0; i < a.m; ++i) {
    float* y = a.y + i * a.yStride;
    for (int64_t j = j0; a.w.scales && j < j0 + n; ++j) y[j] *= a.w.scales[j];
    for (int64_t j = j0; a.bias && j < j0 + n; ++j) y[j] += a.bias[j];
  }
}

/// Columns [j0, j0 + n) of y; memory: the panel, then the carry.
template <class Values>
void matmulPanel(const MatmulArgs& a, const Panels<typename Values::Word>& p, int64_t j0, int64_t n,
                 typename Values::Word* panel) {
  const int64_t rowBytes = dtypeRowBytes(Values::kType, a.w.k), used = (a.w.k + Values::kValues - 1) / Values::kValues;
  const uint8_t* w = static_cast<const uint8_t*>(a.w.data) + j0 * rowBytes;
  for (int64_t j = 0; j < n; ++j) {
    Values::unpack(w + j * rowBytes, a.w.k, panel + j * p.stride);
    std::fill(panel + j * p.stride + used, panel + j * p.stride + p.depth, typename Values::Word{});
  }
  float* carry = p.slice < p.depth ? reinterpret_cast<float*>(panel + p.columns * p.stride) : nullptr;
  for (int64_t i0 = 0; i0 < a.m; i0 += kBlock) {
    for (int64_t k = 0; k < p.depth; k += p.slice) {
      panelProduct<typename Values::Panel>({.x = p.x + i0 * p.xStride + k,
                                            .xStride = p.xStride,
                                            .m = std::min(kBlock, a.m - i0),
                                            .w = panel + k,
                                            .wStride = p.stride,
                                            .n = n,
                                            .k16 = std::min(p.slice, p.depth - k),
                                            .y = a.y + i0 * a.yStride + j0,
                                            .yStride = a.yStride,
                                            .carry = carry,
                                            .first = k == 0,
                                            .last = k + p.slice >= p.depth});
    }
  }
  finish(a, j0, n);
}

template <class Values>
void matmulBlocked(ThreadPool& pool, const MatmulArgs& a) {
  const auto p = panelsOf<Values>(pool, a);
  const auto bytes = static_cast<size_t>(p.columns * p.stride + kBlock * p.columns * 16) * 4;
  const int64_t work = a.m * p.columns * a.w.k;
  const int64_t grain = std::max<int64_t>(1, kWorkPerTask / std::max<int64_t>(1, work)) * p.columns;
  pool.parallelFor(0, a.w.n, grain, [&](int64_t from, int64_t to, int worker) {
    auto* memory = reinterpret_cast<typename Values::Word*>(pool.scratch(worker, bytes));
    for (int64_t j = from; j < to; j += p.columns) matmulPanel<Values>(a, p, j, std::min(p.columns, to - j), memory);
  });
}

template <DType T>
void matmulOfBlocks(ThreadPool& pool, const MatmulArgs& a) {
  if (a.m <= kFewRows) matmulStreamedBlocks<T>(pool, a);
  else matmulBlocked<InBlocks<T>>(pool, a);
}

template <class Values>
void matmulOf(ThreadPool& pool, const MatmulArgs& a) {
  if (a.m <= kFewRows) matmulStreamed<Values>(pool, a);
  else matmulBlocked<Values>(pool, a);
}

}  // namespace

void matmulTarget(ThreadPool& pool, const MatmulArgs& a) {
  if (a.w.type == DType::i8) return matmulOf<Widened<DType::i8>>(pool, a);
  withDType(a.w.type, [&](auto type) { matmulOf<Widened<type()>>(pool, a); });
  withBlockType(a.w.type, [&](auto type) { matmulOfBlocks<type()>(pool, a); });
}

void matmulPairsTarget(ThreadPool& pool, const MatmulArgs& a) {
#if HWY_TARGET == HWY_AVX3
  if (hasNativeBf16()) return matmulOf<NativePairs>(pool, a);
#endif
  matmulOf<SplitPairs>(pool, a);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {
HWY_EXPORT(matmulTarget);
HWY_EXPORT(matmulPairsTarget);

void matmul(const Context& context, const MatmulArgs& a) {
  if (a.m > 0 && a.w.n > 0) HWY_DYNAMIC_DISPATCH(matmulTarget)(*context.pool, withStrides(a));
}

void matmulBf16(const Context& context, const MatmulArgs& a) {
  if (a.w.type != DType::bf16) return matmul(context, a);
  if (a.m > 0 && a.w.n > 0) HWY_DYNAMIC_DISPATCH(matmulPairsTarget)(*context.pool, withStrides(a));
}

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
