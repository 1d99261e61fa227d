// SPDX-License-Identifier: Apache-2.0
// The words that a dot product multiplies: values widened to f32, or pairs of bf16. A register of words adds to a
// register of lanes, so tiles and streams are written once for all kinds of words. And register-tiled products of
// panels whose rows are padded with zeros to multiples of 16 words. Lanes do not meet before the tree, so the lanes are
// walked one register (group) at a time: every accumulator of a tile is one register.
#if defined(KVLAB_DOT_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_DOT_TILE_INL_H
#undef KVLAB_DOT_TILE_INL_H
#else
#define KVLAB_DOT_TILE_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/linear/weights-inl.h"
#include "kernels/cpu/runtime/targets.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// Weights of type T, widened to f32; x stays as it is.
template <DType T>
struct Widened {
  static constexpr DType kType = T;
  static constexpr int64_t kValues = 1;              ///< in a word
  static constexpr int64_t kStored = dtypeBytes(T);  ///< bytes of a word of weights in memory
  static constexpr bool kPacksX = false;             ///< true: words of x differ from the caller's values
  using Word = float;
  using Panel = Widened<DType::f32>;  ///< the words of a panel of these weights
  using Vec = VF;

  static HWY_INLINE Vec load(const Word* from) { return hn::LoadU(DF(), from); }
  static HWY_INLINE Vec loadStored(const uint8_t* from) { return loadAs<T>(DF(), from); }
  static HWY_INLINE void keep(Vec& v) { KVLAB_KEEP(v); }
  static HWY_INLINE VF add(Vec x, Vec w, VF sum) { return mulAdd(x, w, sum); }
  /// kLanes words of x.
  static HWY_INLINE void pack(const float* from, Word* to) { hn::StoreU(hn::LoadU(DF(), from), DF(), to); }
  /// k stored weights to a row of a panel.
  static HWY_INLINE void unpack(const uint8_t* from, int64_t k, Word* to) { readRow<T>(from, to, k); }
};

/// Weights in blocks (block_codes.h), widened to f32 row by row. Streams of few rows widen them before.
template <DType T>
struct InBlocks {
  static constexpr DType kType = T;
  static constexpr int64_t kValues = 1;
  static constexpr bool kPacksX = false;
  using Word = float;
  using Panel = Widened<DType::f32>;

  static HWY_INLINE void pack(const float* from, Word* to) { Panel::pack(from, to); }
  static HWY_INLINE void unpack(const uint8_t* from, int64_t k, Word* to) { widenBlocks<T>(from, to, k); }
};

/// Weights in bf16 as they are stored, x rounded to bf16. A lane takes the odd value of a word, then the even
/// one, each in one rounding: the order of VDPBF16PS.
struct PairWords {
  static constexpr DType kType = DType::bf16;
  static constexpr int64_t kValues = 2, kStored = 4;
  static constexpr bool kPacksX = true;
  using Word = uint32_t;

  static HWY_INLINE void pack(const float* from, Word* to) {
    auto* bytes = reinterpret_cast<uint8_t*>(to);
    storeAs<DType::bf16>(DF(), hn::LoadU(DF(), from), bytes);
    storeAs<DType::bf16>(DF(), hn::LoadU(DF(), from + kLanes), bytes + 2 * kLanes);
  }
  static HWY_INLINE void unpack(const uint8_t* from, int64_t k, Word* to) {
    if (k % 2) to[k / 2] = 0;
    memcpy(to, from, static_cast<size_t>(2 * k));
  }
};

struct SplitPairs : PairWords {
  using Panel = SplitPairs;
  struct Vec {
    VF odd, even;
  };

  static HWY_INLINE Vec loadStored(const uint8_t* from) {
    const hn::RebindToUnsigned<DF> du;
    const auto words = hn::LoadU(du, reinterpret_cast<const uint32_t*>(from));
    return {hn::BitCast(DF(), hn::And(words, hn::Set(du, 0xffff0000u))), hn::BitCast(DF(), hn::ShiftLeft<16>(words))};
  }
  static HWY_INLINE Vec load(const Word* from) { return loadStored(reinterpret_cast<const uint8_t*>(from)); }
  static HWY_INLINE void keep(Vec& v) {
    KVLAB_KEEP(v.odd);
    KVLAB_KEEP(v.even);
  }
  static HWY_INLINE VF add(Vec x, Vec w, VF sum) { return mulAdd(x.even, w.even, mulAdd(x.odd, w.odd, sum)); }
};

#if HWY_TARGET == HWY_AVX3
/// AVX512-BF16, which Highway has no target for; whoever comes here has asked for it (hasNativeBf16()).
struct NativePairs : PairWords {
  using Panel = NativePairs;
  using Vec = VF;

  static HWY_INLINE Vec loadStored(const uint8_t* from) {
    return hn::LoadU(DF(), reinterpret_cast<const float*>(from));
  }
  static HWY_INLINE Vec load(const Word* from) { return loadStored(reinterpret_cast<const uint8_t*>(from)); }
  static HWY_INLINE void keep(Vec& v) { KVLAB_KEEP(v); }
  static HWY_INLINE VF add(Vec x, Vec w, VF sum) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
    return sum;
  }
};
#endif

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
  float* y;
  int64_t yStride;
  float* carry = nullptr;
  bool first = true, last = true;
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
