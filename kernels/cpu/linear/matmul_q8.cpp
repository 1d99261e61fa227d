// SPDX-License-Identifier: Apache-2.0
// Products of integers (numerics.h, "portable-q8") of many rows with a panel of 16 rows of weights.
#include <utility>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernels/cpu/linear/tiles.h"
#include "kernels/cpu/runtime/targets.h"
#include "kernels/ops/matmul.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/linear/matmul_q8.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/linear/q8_stream-inl.h"
#include "kernels/cpu/linear/q8_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kRowsAtOnce = kLanes == 1 ? 1 : 8;  // 8 rows of 16 sums of one lane compile for minutes
constexpr int64_t kLaneCount = 2;                     // units take turns

using DI = hn::RebindToSigned<DF>;
using VI = hn::Vec<DI>;

/// Sums of the products of `groups` x 4 codes for 16 outputs and R rows, on top of the initial sums of each row.
struct PlainSums {
  template <int R>
  static HWY_INLINE void of(const uint8_t* w, const int8_t* const* x, int64_t groups, const int32_t* first,
                            VI (&out)[R][kGroups]) {
    for (int i = 0; i < R; ++i) {
      alignas(64) int32_t sums[kOutputs];
      std::fill_n(sums, kOutputs, first[i]);
      for (int64_t g = 0; g < groups; ++g)
        for (int64_t o = 0; o < kOutputs; ++o)
          for (int64_t t = 0; t < 4; ++t) sums[o] += w[(g * kOutputs + o) * 4 + t] * x[i][4 * g + t];
      for (int64_t g = 0; g < kGroups; ++g) out[i][g] = hn::Load(DI(), sums + g * kLanes);
    }
  }
};

/// Sixteen outputs of R rows from row `row` on.
template <DType T, class Sums, int R>
void walk(const Q8Rows& x, int64_t row, const Q8Panel& w, float (*out)[kOutputs]) {
  constexpr int64_t kUnit = BlockUnits<T>::kUnit, kPerBlock = kXBlock / kUnit;
  const DF d;
  VF lanes[kLaneCount][R][kGroups];
  KVLAB_UNROLL for (int64_t l = 0; l < kLaneCount; ++l) {
    KVLAB_UNROLL for (int i = 0; i < R; ++i) {
      KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g) lanes[l][i][g] = hn::Zero(d);
    }
  }
  const auto unit = [&](int64_t u, int64_t l) HWY_ATTR {
    const int8_t* codes[R];
    int32_t first[R];
    VI sums[R][kGroups];
    KVLAB_UNROLL for (int i = 0; i < R; ++i) {
      codes[i] = x.codes + (row + i) * x.k + u * kUnit;
      first[i] = -BlockUnits<T>::kOffset * x.sums[(row + i) * x.units + u];
    }
    Sums::template of<R>(w.codes + u * kUnit * kOutputs, codes, kUnit / 4, first, sums);
    KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g) {
      const VF scale = hn::LoadU(d, w.scales + u * kOutputs + g * kLanes);
      KVLAB_UNROLL for (int i = 0; i < R; ++i) {
        const VF xScale = hn::Set(d, x.scales[(row + i) * (x.k / kXBlock) + u / kPerBlock]);
        lanes[l][i][g] = mulAdd(hn::Mul(hn::ConvertTo(d, sums[i][g]), xScale), scale, lanes[l][i][g]);
        if constexpr (BlockUnits<T>::kLeast)
          lanes[l][i][g] = mulAdd(hn::Set(d, x.scaledSums[(row + i) * x.units + u]),
                                  hn::LoadU(d, w.least + u * kOutputs + g * kLanes), lanes[l][i][g]);
      }
    }
  };
  int64_t u = 0;
  for (; u + kLaneCount <= x.units; u += kLaneCount) {
    KVLAB_UNROLL for (int64_t l = 0; l < kLaneCount; ++l) unit(u + l, l);
  }
  if (u < x.units) unit(u, 0);
  KVLAB_UNROLL for (int i = 0; i < R; ++i) {
    KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g)
        hn::StoreU(hn::Add(lanes[0][i][g], lanes[1][i][g]), d, out[i] + g * kLanes);
  }
}

/// R rows by walk().
template <DType T>
struct PlainWalk {
  static constexpr bool kTiles = false;
  template <int R>
  static void rows(const Q8Rows& x, int64_t row, const Q8Panel& w, float (*out)[kOutputs]) {
    walk<T, PlainSums, R>(x, row, w, out);
  }
};

#if HWY_TARGET == HWY_AVX3
// The arithmetic of walk() by AVX512-VNNI, in registers alone. The ports of the products limit it: eight of them and
// three operations of floats for each unit of a row.

/// The beginning of the next unit of R rows.
template <int R>
struct Q8Place {
  const int8_t* codes;  ///< codes of the first row
  const float *scales, *scaledSums;
  const int32_t* sums;
  int64_t k, blocks, units;  ///< codes, scales, sums from one row to the next
};

template <DType T, int R, int... i>
HWY_INLINE void walkUnit(const Q8Place<R>& x, int64_t u, const Q8Panel& w, __m512 (&lane)[R],
                         std::integer_sequence<int, i...>) {
  constexpr int64_t kUnit = BlockUnits<T>::kUnit, kPerBlock = kXBlock / kUnit;
  const int8_t* rows[R] = {x.codes + i * x.k + u * kUnit...};
  __m512i sums[R] = {
      _mm512_set1_epi32(BlockUnits<T>::kOffset == 0 ? 0 : -BlockUnits<T>::kOffset * x.sums[i * x.units + u])...};
  KVLAB_UNROLL for (int64_t g = 0; g < kUnit / 4; ++g) {
    const __m512i codes = _mm512_loadu_si512(w.codes + (u * kUnit / 4 + g) * kOutputs * 4);
    ((sums[i] = addFour(sums[i], codes, rows[i] + 4 * g)), ...);
  }
  const __m512 scale = _mm512_loadu_ps(w.scales + u * kOutputs);
  ((lane[i] = _mm512_fmadd_ps(
        _mm512_mul_ps(_mm512_cvtepi32_ps(sums[i]), _mm512_set1_ps(x.scales[i * x.blocks + u / kPerBlock])), scale,
        lane[i])),
   ...);
  if constexpr (BlockUnits<T>::kLeast) {
    const __m512 least = _mm512_loadu_ps(w.least + u * kOutputs);
    ((lane[i] = _mm512_fmadd_ps(_mm512_set1_ps(x.scaledSums[i * x.units + u]), least, lane[i])), ...);
  }
}

template <DType T, int R, int... i>
HWY_INLINE void walkUnits(const Q8Place<R>& x, const Q8Panel& w, float (*out)[kOutputs],
                          std::integer_sequence<int, i...> rows) {
  __m512 even[R] = {((void)i, _mm512_setzero_ps())...}, odd[R] = {((void)i, _mm512_setzero_ps())...};
  int64_t u = 0;
  for (; u + 2 <= x.units; u += 2) {
    walkUnit<T, R>(x, u, w, even, rows);
    walkUnit<T, R>(x, u + 1, w, odd, rows);
  }
  if (u < x.units) walkUnit<T, R>(x, u, w, even, rows);
  (_mm512_storeu_ps(out[i], _mm512_add_ps(even[i], odd[i])), ...);
}

template <DType T>
struct NativeWalk {
  static constexpr bool kTiles = false;
  template <int R>
  static HWY_NOINLINE void rows(const Q8Rows& x, int64_t row, const Q8Panel& w, float (*out)[kOutputs]) {
    const int64_t blocks = x.k / kXBlock;
    walkUnits<T, R>(Q8Place<R>{x.codes + row * x.k, x.scales + row * blocks, x.scaledSums + row * x.units,
                               x.sums + row * x.units, x.k, blocks, x.units},
                    w, out, std::make_integer_sequence<int, R>());
  }
};
#endif

/// Sixteen rows by walkTiles(), fewer by another walk.
template <DType T, class Rest, class Tiles>
struct TileWalk {
  static constexpr bool kTiles = true;
  template <int R>
  void rows(const Q8Rows& x, int64_t row, const Q8Panel& w, float (*out)[kOutputs]) {
    if constexpr (R == kTileRows) walkTiles<T>(tiles, x, row, w, out);
    else Rest::template rows<R>(x, row, w, out);
  }
  Tiles tiles = Tiles(UnitShapes(BlockUnits<T>::kUnit));
};

#if HWY_TARGET == HWY_AVX3
template <int64_t kUnit, int turn, class Tiles>
std::array<int32_t, kTileRows * kOutputs> trial() {
  alignas(64) uint8_t memory[2][64 * kOutputs];
  for (int i = 0; i < 64 * kOutputs; ++i) {
    memory[0][i] = static_cast<uint8_t>(i * 37 % 255 - 127);
    memory[1][i] = static_cast<uint8_t>(i * 101 + i / 7);
  }
  std::array<int32_t, kTileRows* kOutputs> sums = {};
  Tiles tiles((UnitShapes(kUnit)));
  sumsOfUnit<kUnit, turn>(tiles, Q8Rows(memory[0], kTileRows, kUnit, 1), 0, Q8Panel(memory[1], kUnit, 1), 0,
                          sums.data());
  return sums;
}

template <int64_t kUnit, int turn>
bool trialPasses() {
  return trial<kUnit, turn, NativeTiles>() == trial<kUnit, turn, EmulatedTiles>();
}

/// True if tiles are there and give what they should.
bool tilesServe() {
  static const bool kServe = hasTiles() && trialPasses<32, 0>() && trialPasses<32, 1>() && trialPasses<16, 0>();
  return kServe;
}
#endif

/// Columns [j, j + n) of all rows; n <= 16.
template <class Walk>
void panelOfRows(Walk& walk, const MatmulArgs& a, const Q8Rows& x, const Q8Panel& w, int64_t j, int64_t n) {
  alignas(64) float out[Walk::kTiles ? kTileRows : kRowsAtOnce][kOutputs];
  for (int64_t i = 0, rows = 0; i < a.m; i += rows) {
    const int64_t left = a.m - i;
    rows = kRowsAtOnce == 1 ? 1 : left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    if (Walk::kTiles && left >= kTileRows) {
      rows = kTileRows;
      if constexpr (Walk::kTiles) walk.template rows<kTileRows>(x, i, w, out);
    } else if constexpr (kRowsAtOnce == 1) {
      walk.template rows<1>(x, i, w, out);
    } else {
      switch (rows) {
        case 1: walk.template rows<1>(x, i, w, out); break;
        case 2: walk.template rows<2>(x, i, w, out); break;
        case 4: walk.template rows<4>(x, i, w, out); break;
        default: walk.template rows<8>(x, i, w, out);
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      float* y = a.y + (i + r) * a.yStride + j;
      for (int64_t o = 0; o < n; ++o) y[o] = a.bias ? out[r][o] + a.bias[j + o] : out[r][o];
    }
  }
}

/// Calls run(from, to) for chunks of `grain` of [0, n). Workers that take turns each stay in a part of their own, so
/// that a worker takes next the chunk that it has prefetched.
template <class Run>
void inOwnParts(ThreadPool& pool, int64_t n, int64_t grain, const Run& run) {
  const int64_t parts = pool.threads(), chunks = (n + grain - 1) / grain, each = (chunks + parts - 1) / parts;
  pool.parallelFor(0, parts * each, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t turn = first; turn < last; ++turn)
      if (const int64_t from = (turn % parts * each + turn / parts) * grain; from < n)
        run(from, std::min(n, from + grain));
  });
}

template <DType T, class Walk>
void matmulUnits(ThreadPool& pool, const MatmulArgs& a) {
  const int64_t units = a.w.k / BlockUnits<T>::kUnit, rowBytes = dtypeRowBytes(T, a.w.k);
  const Q8Rows x(pool.sharedScratch(static_cast<size_t>(Q8Rows::bytes(a.m, a.w.k, units))), a.m, a.w.k, units);
  pool.parallelFor(0, a.m, 1 + 65536 / a.w.k, [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) x.fill(a.x + i * a.xStride, i);
  });
  const int64_t grain = std::max(kOutputs, a.w.n / (4 * pool.threads()) / kOutputs * kOutputs);
#if HWY_TARGET == HWY_AVX3
  if (std::is_same_v<Walk, NativeWalk<T>> && a.m <= kQ8StreamRows && a.w.n >= kOutputs)
    return inOwnParts(pool, a.w.n, grain, [&](int64_t from, int64_t to) {
      for (int64_t j = from; j < to; j += kOutputs) streamRowsQ8<T>(a, x, j, std::min(kOutputs, to - j));
    });
#endif
  pool.parallelFor(0, a.w.n, grain, [&](int64_t from, int64_t to, int worker) {
    Walk walk;
    const Q8Panel w(pool.scratch(worker, static_cast<size_t>(Q8Panel::bytes(a.w.k, units))), a.w.k, units);
    for (int64_t j = from; j < to; j += kOutputs) {
      const int64_t n = std::min(kOutputs, to - j);
      fillPanel<T>(static_cast<const uint8_t*>(a.w.data) + j * rowBytes, n, a.w.k, w);
      panelOfRows(walk, a, x, w, j, n);
    }
  });
}

}  // namespace

void matmulQ8Target(ThreadPool& pool, const MatmulArgs& a) {
  withBlockType(a.w.type, [&](auto type) {
#if HWY_TARGET == HWY_AVX3
    using Native = NativeWalk<type()>;
    if (a.m >= kTileRows && tilesServe()) return matmulUnits<type(), TileWalk<type(), Native, NativeTiles>>(pool, a);
    if (hasNativeQ8()) return matmulUnits<type(), Native>(pool, a);
#endif
    matmulUnits<type(), PlainWalk<type()>>(pool, a);
  });
}

void matmulQ8EmulatedTarget(ThreadPool& pool, const MatmulArgs& a) {
  withBlockType(a.w.type,
                [&](auto type) { matmulUnits<type(), TileWalk<type(), PlainWalk<type()>, EmulatedTiles>>(pool, a); });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {
HWY_EXPORT(matmulQ8Target);
HWY_EXPORT(matmulQ8EmulatedTarget);

bool hasTiles() {
#if defined(__x86_64__) && defined(__linux__)
  static const bool kHas = [] {
    constexpr unsigned kTiles = 3u << 24;          // AMX-TILE and AMX-INT8 of leaf 7
    constexpr long kAsk = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kTiles) == kTiles && hasNativeQ8() &&
        syscall(SYS_arch_prctl, kAsk, kTileData) == 0;
  }();
  return kHas;
#else
  return false;
#endif
}

void matmulQ8Emulated(const Context& context, const MatmulArgs& a) {
  if (!dtypeInBlocks(a.w.type)) return matmul(context, a);
  if (a.m > 0 && a.w.n > 0) HWY_DYNAMIC_DISPATCH(matmulQ8EmulatedTarget)(*context.pool, withStrides(a));
}

void matmulQ8(const Context& context, const MatmulArgs& a) {
  if (!dtypeInBlocks(a.w.type)) return matmul(context, a);
  if (a.m > 0 && a.w.n > 0) HWY_DYNAMIC_DISPATCH(matmulQ8Target)(*context.pool, withStrides(a));
}

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
