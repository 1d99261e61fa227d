// SPDX-License-Identifier: Apache-2.0
// Register-tiled products of panels whose rows are padded with zeros to multiples of 16 words (dot_values-inl.h).
// Lanes do not meet before the tree, so the lanes are walked one register (group) at a time: every
// accumulator of a tile is one register.
#if defined(KVLAB_DOT_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_DOT_TILE_INL_H
#undef KVLAB_DOT_TILE_INL_H
#else
#define KVLAB_DOT_TILE_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/linear/dot_values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2  // 16 registers
constexpr int64_t kTileRows = 3, kTileCols = 4;
#else
constexpr int64_t kTileRows = 4, kTileCols = 6;
#endif

/// x [m, k16] times w [n, k16], transposed. With several calls over slices of k, carry [m * n, 16] holds
/// the lanes in between, tile by tile: `first` starts from 0, `last` reduces into y [m, n].
template <class Values>
struct PanelProduct {
  const typename Values::Word* x;
  int64_t xStride;
  int64_t m;
  const typename Values::Word* w;
  int64_t wStride;
  int64_t n;
  int64_t k16;  ///< words, a multiple of 16
  float* carry;
  bool first, last;
  float* y;
  int64_t yStride;
};

/// Lanes of one tile: acc [R, C, 16] += x * w.
template <int R, int C, class Values>
HWY_INLINE void tileLanes(const PanelProduct<Values>& p, const typename Values::Word* x, const typename Values::Word* w,
                          float* acc, bool fromZero) {
  const DF d;
  for (int64_t g = 0; g < kGroups; ++g) {
    const auto* xg = x + g * kLanes;
    const auto* wg = w + g * kLanes;
    float* lanes = acc + g * kLanes;
    VF c[R][C];
    KVLAB_UNROLL for (int i = 0; i < R; ++i) {
      KVLAB_UNROLL for (int j = 0; j < C; ++j) {
        c[i][j] = fromZero ? hn::Zero(d) : hn::LoadU(d, lanes + (i * C + j) * 16);
      }
    }
    for (int64_t k = 0; k < p.k16; k += kVirtualLanes) {
      typename Values::Vec xs[R];
      KVLAB_UNROLL for (int i = 0; i < R; ++i) xs[i] = Values::load(xg + i * p.xStride + k);
      KVLAB_UNROLL for (int j = 0; j < C; ++j) {
        typename Values::Vec wj = Values::load(wg + j * p.wStride + k);
        Values::keep(wj);
        KVLAB_UNROLL for (int i = 0; i < R; ++i) c[i][j] = Values::add(xs[i], wj, c[i][j]);
      }
    }
    KVLAB_UNROLL for (int i = 0; i < R; ++i) {
      KVLAB_UNROLL for (int j = 0; j < C; ++j) hn::StoreU(c[i][j], d, lanes + (i * C + j) * 16);
    }
  }
}

HWY_INLINE void reduceRow(const float* lanes, int64_t n, float* y) {
  int64_t j = 0;
  for (; j + 8 <= n; j += 8) reduceLanes8(lanes + 16 * j, y + j);
  for (; j + 4 <= n; j += 4) reduceLanes4(lanes + 16 * j, y + j);
  for (; j < n; ++j) y[j] = reduceLanes(lanes + 16 * j);
}

template <int R, int C, class Values>
HWY_NOINLINE void tile(const PanelProduct<Values>& p, int64_t i0, int64_t j0) {
  alignas(64) float local[R * C * 16];
  float* acc = p.carry ? p.carry + (j0 * p.m + i0 * C) * 16 : local;
  tileLanes<R, C>(p, p.x + i0 * p.xStride, p.w + j0 * p.wStride, acc, p.first);
  if (!p.last) return;
  alignas(64) float sums[R * C];
  reduceRow(acc, R * C, sums);
  KVLAB_UNROLL for (int i = 0; i < R; ++i) memcpy(p.y + (i0 + i) * p.yStride + j0, sums + i * C, C * 4);
}

template <int C, class Values>
HWY_INLINE void tileColumn(const PanelProduct<Values>& p, int64_t j0) {
  int64_t i = 0;
  for (; i + kTileRows <= p.m; i += kTileRows) tile<kTileRows, C>(p, i, j0);
  switch (p.m - i) {
    case 1: return tile<1, C>(p, i, j0);
    case 2: return tile<2, C>(p, i, j0);
    case 3: return tile<3, C>(p, i, j0);
    default: return;
  }
}

template <class Values = Widened<DType::f32>>
HWY_NOINLINE void panelProduct(const PanelProduct<Values>& p) {
  int64_t j = 0;
  for (; j + kTileCols <= p.n; j += kTileCols) tileColumn<kTileCols>(p, j);
  switch (p.n - j) {
    case 1: return tileColumn<1>(p, j);
    case 2: return tileColumn<2>(p, j);
    case 3: return tileColumn<3>(p, j);
    case 4: return tileColumn<4>(p, j);
    case 5: return tileColumn<5>(p, j);
    default: return;
  }
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_DOT_TILE_INL_H
