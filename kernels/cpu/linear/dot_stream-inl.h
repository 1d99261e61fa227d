// SPDX-License-Identifier: Apache-2.0
// Products of up to four rows with a matrix that streams by once: the code reads each weight from memory once,
// converts it in registers and uses it for all rows. Lanes and tree are those of numerics.h.
#if defined(KVLAB_DOT_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_DOT_STREAM_INL_H
#undef KVLAB_DOT_STREAM_INL_H
#else
#define KVLAB_DOT_STREAM_INL_H
#endif

#include <hwy/cache_control.h>

#include "kernels/cpu/linear/dot_tile-inl.h"
#include "kernels/ops/matmul.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

constexpr int64_t kAhead = 12288;   // bytes of weights prefetched ahead of their use
constexpr int64_t kLongRow = 2048;  // rows of so many weights or more are prefetched to the second cache
constexpr int64_t kStreamRows = 4;  // so many rows stream the weights at a time

/// One row of x -> words in split order, padded with zeros to a multiple of 16 words.
template <class Values>
HWY_INLINE void packRow(const float* from, int64_t count, typename Values::Word* to) {
  constexpr int64_t kStep = 16 * Values::kValues;
  const int64_t steps = (count + kStep - 1) / kStep;
  const auto step = [&](const float* at, int64_t s) {
    KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g)
        Values::pack(at + g * kLanes * Values::kValues, to + (g * steps + s) * kLanes);
  };
  int64_t s = 0;
  for (; (s + 1) * kStep <= count; ++s) step(from + s * kStep, s);
  if (s == steps) return;
  float tail[kStep] = {};
  std::copy(from + s * kStep, from + count, tail);
  step(tail, s);
}

// Few rows: each weight is read from memory once, converted in registers and used for all M rows.
// One row walks all lanes at once; more rows walk the lanes register by register, so that the
// accumulators of M x N outputs fit. x is packed once per call: [M] rows in split order.

template <int M>
constexpr int kStreamColumns = M == 4 ? 3 : 4;

/// G registers of lanes of M x N outputs, one step of 16 words. x and w point at the first of
/// these lanes; rows of x lie xStride apart, its registers xGroup.
template <class Values, int M, int N, int G>
HWY_INLINE void streamStep(const typename Values::Word* x, int64_t xStride, int64_t xGroup, const uint8_t* w,
                           int64_t wStride, VF (&c)[G][M][N]) {
  using Vec = typename Values::Vec;
  KVLAB_UNROLL for (int g = 0; g < G; ++g) {
    const auto* xg = x + g * xGroup;
    const uint8_t* wg = w + g * kLanes * Values::kStored;
    if constexpr (M <= N) {  // hold the x of this step, pass the weights by
      Vec xs[M];
      KVLAB_UNROLL for (int i = 0; i < M; ++i) xs[i] = Values::load(xg + i * xStride);
      KVLAB_UNROLL for (int j = 0; j < N; ++j) {
        Vec wj = Values::loadStored(wg + j * wStride);
        Values::keep(wj);
        KVLAB_UNROLL for (int i = 0; i < M; ++i) c[g][i][j] = Values::add(xs[i], wj, c[g][i][j]);
      }
    } else {
      Vec ws[N];
      KVLAB_UNROLL for (int j = 0; j < N; ++j) ws[j] = Values::loadStored(wg + j * wStride);
      KVLAB_UNROLL for (int i = 0; i < M; ++i) {
        Vec xi = Values::load(xg + i * xStride);
        Values::keep(xi);
        KVLAB_UNROLL for (int j = 0; j < N; ++j) c[g][i][j] = Values::add(xi, ws[j], c[g][i][j]);
      }
    }
  }
}

/// Lanes of groups [g0, g0 + G) of M x N outputs; x is packed.
template <class Values, int M, int N, int G>
HWY_INLINE void streamLanes(const MatmulArgs& a, const typename Values::Word* x, const uint8_t* w, int64_t g0,
                            float* lanes) {
  constexpr int64_t kStep = 16 * Values::kValues, kStepBytes = 16 * Values::kStored;
  const DF d;
  VF c[G][M][N];
  KVLAB_UNROLL for (int g = 0; g < G; ++g) {
    KVLAB_UNROLL for (int i = 0; i < M; ++i) { KVLAB_UNROLL for (int j = 0; j < N; ++j) c[g][i][j] = hn::Zero(d); }
  }
  const int64_t steps = (a.w.k + kStep - 1) / kStep, whole = a.w.k / kStep, xGroup = steps * kLanes,
                rowBytes = a.w.k * dtypeBytes(Values::kType);
  x += g0 * xGroup;
  const uint8_t* wg = w + g0 * kLanes * Values::kStored;
  for (int64_t s = 0; s < whole; ++s) {
    if (g0 == 0) {  // rows are too short for hardware to get going, but the tiles follow each other
      const uint8_t* ahead = w + s * N * kStepBytes + kAhead;
      for (int64_t at = 0; at < N * kStepBytes; at += 64)
        a.w.k < kLongRow ? hwy::Prefetch(ahead + at) : prefetchFar(ahead + at);
    }
    streamStep<Values, M, N, G>(x + s * kLanes, steps * 16, xGroup, wg + s * kStepBytes, rowBytes, c);
  }
  if (whole < steps) {  // the last weights, padded with zeros
    alignas(64) uint8_t tail[N * 64] = {};
    const auto left = static_cast<size_t>(rowBytes - whole * kStepBytes);
    for (int j = 0; j < N; ++j) memcpy(tail + j * 64, w + j * rowBytes + whole * kStepBytes, left);
    streamStep<Values, M, N, G>(x + whole * kLanes, steps * 16, xGroup, tail + g0 * kLanes * Values::kStored, 64, c);
  }
  KVLAB_UNROLL for (int g = 0; g < G; ++g) {
    KVLAB_UNROLL for (int i = 0; i < M; ++i) {
      KVLAB_UNROLL for (int j = 0; j < N; ++j) {
        hn::StoreU(c[g][i][j], d, lanes + (i * N + j) * 16 + (g0 + g) * kLanes);
      }
    }
  }
}

template <class Values, int M, int N>
HWY_INLINE void streamTile(const MatmulArgs& a, const typename Values::Word* x, int64_t j0) {
  constexpr int kAtOnce = M == 1 ? static_cast<int>(kGroups) : 1;
  const uint8_t* w = static_cast<const uint8_t*>(a.w.data) + j0 * a.w.k * dtypeBytes(Values::kType);
  alignas(64) float lanes[M * N * 16];
  for (int64_t g = 0; g < kGroups; g += kAtOnce) streamLanes<Values, M, N, kAtOnce>(a, x, w, g, lanes);
  for (int i = 0; i < M; ++i) {
    float* y = a.y + i * a.yStride + j0;
    reduceRow(lanes + i * N * 16, N, y);
    for (int j = 0; a.w.scales && j < N; ++j) y[j] *= a.w.scales[j0 + j];
    for (int j = 0; a.bias && j < N; ++j) y[j] += a.bias[j0 + j];
  }
}

template <class Values, int M>
HWY_INLINE void streamColumns(const MatmulArgs& a, const typename Values::Word* x, int64_t from, int64_t to) {
  constexpr int kColumns = kStreamColumns<M>;
  int64_t j = from;
  for (; j + kColumns <= to; j += kColumns) streamTile<Values, M, kColumns>(a, x, j);
  for (; j < to; ++j) streamTile<Values, M, 1>(a, x, j);
}

/// Not inlined: the compiler took minutes for one function that held all four in a loop.
template <class Values>
HWY_NOINLINE void streamRows(const MatmulArgs& a, const typename Values::Word* x, int64_t from, int64_t to) {
  switch (a.m) {
    case 1: return streamColumns<Values, 1>(a, x, from, to);
    case 2: return streamColumns<Values, 2>(a, x, from, to);
    case 3: return streamColumns<Values, 3>(a, x, from, to);
    default: return streamColumns<Values, 4>(a, x, from, to);
  }
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_DOT_STREAM_INL_H
