// SPDX-License-Identifier: Apache-2.0
// Products of up to four rows with a matrix that streams by once: each weight is read from memory once,
// converted in registers and used for all rows. Lanes and tree of numerics.h.
#if defined(KVLAB_DOT_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_DOT_STREAM_INL_H
#undef KVLAB_DOT_STREAM_INL_H
#else
#define KVLAB_DOT_STREAM_INL_H
#endif

#include <hwy/cache_control.h>

#include "kernels/cpu/dot_tile-inl.h"
#include "kernels/ops/matmul.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

constexpr int64_t kAhead = 12288;   // bytes of weights prefetched ahead of their use
constexpr int64_t kLongRow = 2048;  // of weights, from which on they are asked into the second cache
constexpr int64_t kStreamRows = 4;  // up to here weights are streamed instead of packed

/// count values of one row -> f32 in split order, padded with zeros to a multiple of 16.
template <DType T>
HWY_INLINE void packRow(const uint8_t* from, int64_t count, float* to) {
  const DF d;
  const int64_t steps = (count + 15) / 16;
  const auto step = [&](const uint8_t* at, int64_t s) {
    KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g) {
      const VF v = loadAs<T>(d, at + g * kLanes * dtypeBytes(T));
      hn::StoreU(v, d, to + (g * steps + s) * kLanes);
    }
  };
  int64_t s = 0;
  for (; (s + 1) * 16 <= count; ++s) step(from + s * 16 * dtypeBytes(T), s);
  if (s == steps) return;
  alignas(64) uint8_t tail[64] = {};
  const int64_t left = (count - s * 16) & 15;
  memcpy(tail, from + s * 16 * dtypeBytes(T), static_cast<size_t>(left * dtypeBytes(T)));
  step(tail, s);
}

// Few rows: each weight is read from memory once, converted in registers and used for all M rows.
// One row walks all lanes at once; more rows walk the lanes register by register, so that the
// accumulators of M x N outputs fit. x is packed once per call: [M] rows in split order.

template <int M>
constexpr int kStreamColumns = M == 4 ? 3 : 4;

/// G registers of lanes of M x N outputs, one step of 16 elements. x and w point at the first of
/// these lanes; rows of x lie xStride apart, its registers xGroup.
template <DType T, int M, int N, int G>
HWY_INLINE void streamStep(const float* x, int64_t xStride, int64_t xGroup, const uint8_t* w,
                           int64_t wStride, VF (&c)[G][M][N]) {
  const DF d;
  KVLAB_UNROLL for (int g = 0; g < G; ++g) {
    const float* xg = x + g * xGroup;
    const uint8_t* wg = w + g * kLanes * dtypeBytes(T);
    if constexpr (M <= N) {  // hold the x of this step, pass the weights by
      VF xs[M];
      KVLAB_UNROLL for (int i = 0; i < M; ++i) xs[i] = hn::LoadU(d, xg + i * xStride);
      KVLAB_UNROLL for (int j = 0; j < N; ++j) {
        VF wj = loadAs<T>(d, wg + j * wStride);
        KVLAB_KEEP(wj);
        KVLAB_UNROLL for (int i = 0; i < M; ++i) c[g][i][j] = mulAdd(xs[i], wj, c[g][i][j]);
      }
    } else {
      VF ws[N];
      KVLAB_UNROLL for (int j = 0; j < N; ++j) ws[j] = loadAs<T>(d, wg + j * wStride);
      KVLAB_UNROLL for (int i = 0; i < M; ++i) {
        VF xi = hn::LoadU(d, xg + i * xStride);
        KVLAB_KEEP(xi);
        KVLAB_UNROLL for (int j = 0; j < N; ++j) c[g][i][j] = mulAdd(xi, ws[j], c[g][i][j]);
      }
    }
  }
}

/// Lanes of groups [g0, g0 + G) of M x N outputs; x is packed.
template <DType T, int M, int N, int G>
HWY_INLINE void streamLanes(const MatmulArgs& a, const float* x, const uint8_t* w, int64_t g0,
                            float* lanes) {
  constexpr int64_t kBytes = dtypeBytes(T);
  const DF d;
  VF c[G][M][N];
  KVLAB_UNROLL for (int g = 0; g < G; ++g) {
    KVLAB_UNROLL for (int i = 0; i < M; ++i) {
      KVLAB_UNROLL for (int j = 0; j < N; ++j) c[g][i][j] = hn::Zero(d);
    }
  }
  const int64_t steps = (a.k + 15) / 16, whole = a.k / 16, xGroup = steps * kLanes;
  x += g0 * xGroup;
  const uint8_t* wg = w + g0 * kLanes * kBytes;
  for (int64_t s = 0; s < whole; ++s) {
    if (g0 == 0) {  // rows are too short for hardware to get going, but the tiles follow each other
      const uint8_t* ahead = w + s * N * 16 * kBytes + kAhead;
      for (int64_t at = 0; at < N * 16 * kBytes; at += 64) a.k < kLongRow ? hwy::Prefetch(ahead + at) : prefetchFar(ahead + at);
    }
    streamStep<T, M, N, G>(x + s * kLanes, steps * 16, xGroup, wg + s * 16 * kBytes, a.k * kBytes, c);
  }
  if (whole < steps) {  // the last weights, padded with zeros
    alignas(64) uint8_t tail[N * 64] = {};
    const auto left = static_cast<size_t>((a.k & 15) * kBytes);
    for (int j = 0; j < N; ++j) memcpy(tail + j * 64, w + (j * a.k + whole * 16) * kBytes, left);
    streamStep<T, M, N, G>(x + whole * kLanes, steps * 16, xGroup, tail + g0 * kLanes * kBytes, 64, c);
  }
  KVLAB_UNROLL for (int g = 0; g < G; ++g) {
    KVLAB_UNROLL for (int i = 0; i < M; ++i) {
      KVLAB_UNROLL for (int j = 0; j < N; ++j) {
        hn::StoreU(c[g][i][j], d, lanes + (i * N + j) * 16 + (g0 + g) * kLanes);
      }
    }
  }
}

template <DType T, int M, int N>
HWY_INLINE void streamTile(const MatmulArgs& a, const float* x, int64_t j0) {
  constexpr int kAtOnce = M == 1 ? static_cast<int>(kGroups) : 1;
  const uint8_t* w = static_cast<const uint8_t*>(a.w) + j0 * a.k * dtypeBytes(T);
  alignas(64) float lanes[M * N * 16];
  for (int64_t g = 0; g < kGroups; g += kAtOnce) streamLanes<T, M, N, kAtOnce>(a, x, w, g, lanes);
  for (int i = 0; i < M; ++i) {
    float* y = a.y + i * a.yStride + j0;
    reduceRow(lanes + i * N * 16, N, y);
    for (int j = 0; a.bias && j < N; ++j) y[j] += a.bias[j0 + j];
  }
}

template <DType T, int M>
HWY_INLINE void streamColumns(const MatmulArgs& a, const float* x, int64_t from, int64_t to) {
  constexpr int kColumns = kStreamColumns<M>;
  int64_t j = from;
  for (; j + kColumns <= to; j += kColumns) streamTile<T, M, kColumns>(a, x, j);
  for (; j < to; ++j) streamTile<T, M, 1>(a, x, j);
}

template <DType T>
HWY_INLINE void streamRows(const MatmulArgs& a, const float* x, int64_t from, int64_t to) {
  switch (a.m) {
    case 1: return streamColumns<T, 1>(a, x, from, to);
    case 2: return streamColumns<T, 2>(a, x, from, to);
    case 3: return streamColumns<T, 3>(a, x, from, to);
    default: return streamColumns<T, 4>(a, x, from, to);
  }
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_DOT_STREAM_INL_H
