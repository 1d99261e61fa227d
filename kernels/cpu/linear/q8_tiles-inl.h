// SPDX-License-Identifier: Apache-2.0
// Products of integers (numerics.h, "portable-q8") of sixteen rows with a panel, by tiles of 16 x 16 sums: AMX (Intel
// 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18), or what these instructions do, step by
// step, for tests on processors without them. Sums of integers are exact, so the bits are those of the other ways.
#if defined(KVLAB_Q8_TILES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_Q8_TILES_INL_H
#undef KVLAB_Q8_TILES_INL_H
#else
#define KVLAB_Q8_TILES_INL_H
#endif

#include <array>

#include "kernels/cpu/linear/q8_panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

constexpr int64_t kTileRows = 16;

/// The memory operand of LDTILECFG.
struct alignas(64) TileShapes {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileShapes) == 64);

/// Tiles 0 and 1 are sums of int32, 2 and 3 codes of x, 4 and 5 codes of weights; units take turns.
struct UnitShapes : TileShapes {
  explicit UnitShapes(int64_t unit) {
    for (int t = 0; t < 6; ++t) {
      rows[t] = static_cast<uint8_t>(t < 4 ? kTileRows : unit / 4);
      rowBytes[t] = static_cast<uint16_t>(t / 2 == 1 ? unit : 64);
    }
  }
};

#if HWY_TARGET == HWY_AVX3
/// The instructions. Whoever comes here has asked hasTiles().
struct NativeTiles {
  explicit NativeTiles(const TileShapes& shapes) { __asm__ volatile("ldtilecfg %0" : : "m"(shapes)); }
  ~NativeTiles() { __asm__ volatile("tilerelease"); }
  NativeTiles(const NativeTiles&) = delete;
  NativeTiles& operator=(const NativeTiles&) = delete;

  template <int t>
  HWY_INLINE void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "n"(t));
  }
  template <int t>
  HWY_INLINE void load(const void* from, int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "n"(t) : "memory");
  }
  /// sums += products of signed and unsigned codes.
  template <int sums, int x, int w>
  HWY_INLINE void multiply() {
    __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "n"(sums), "n"(x), "n"(w));
  }
  template <int t>
  HWY_INLINE void store(void* to, int64_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "n"(t) : "memory");
  }
};
#endif

/// The same by the manual's descriptions. A shape that the instructions refuse ends the program, as it would there.
class EmulatedTiles {
 public:
  explicit EmulatedTiles(const TileShapes& shapes) : m_shapes(shapes) {
    if (shapes.palette != 1 || shapes.startRow != 0) HWY_ABORT("a palette that is not there");
    for (int t = 0; t < 16; ++t)
      if (shapes.rows[t] > (t < 8 ? 16 : 0) || shapes.rowBytes[t] > (t < 8 ? 64 : 0))
        HWY_ABORT("tile %d is too large", t);
  }

  template <int t>
  void zero() {
    m_tiles[t] = {};
  }
  template <int t>
  void load(const void* from, int64_t stride) {
    zero<t>();
    for (int r = 0; r < m_shapes.rows[t]; ++r)
      memcpy(&m_tiles[t][r * 64], static_cast<const uint8_t*>(from) + r * stride, m_shapes.rowBytes[t]);
  }
  template <int sums, int x, int w>
  void multiply() {
    const int words = m_shapes.rowBytes[x] / 4;
    if (m_shapes.rowBytes[sums] != m_shapes.rowBytes[w] || m_shapes.rows[sums] != m_shapes.rows[x] ||
        words != m_shapes.rows[w] || m_shapes.rowBytes[x] % 4 != 0)
      HWY_ABORT("tiles that do not fit each other");
    for (int r = 0; r < m_shapes.rows[sums]; ++r)
      for (int g = 0; g < words; ++g)
        for (int o = 0; o < m_shapes.rowBytes[sums] / 4; ++o) {
          int32_t sum;
          memcpy(&sum, &m_tiles[sums][r * 64 + o * 4], 4);
          for (int b = 0; b < 4; ++b)
            sum += static_cast<int8_t>(m_tiles[x][r * 64 + g * 4 + b]) * m_tiles[w][g * 64 + o * 4 + b];
          memcpy(&m_tiles[sums][r * 64 + o * 4], &sum, 4);
        }
  }
  template <int t>
  void store(void* to, int64_t stride) {
    for (int r = 0; r < m_shapes.rows[t]; ++r)
      memcpy(static_cast<uint8_t*>(to) + r * stride, &m_tiles[t][r * 64], m_shapes.rowBytes[t]);
  }

 private:
  TileShapes m_shapes;
  std::array<std::array<uint8_t, 16 * 64>, 8> m_tiles = {};
};

/// Sums of products of unit u, [16 rows, 16 outputs], in the first or the second tile of each pair.
template <int64_t kUnit, int turn, class Tiles>
HWY_INLINE void sumsOfUnit(Tiles& tiles, const Q8Rows& x, int64_t row, const Q8Panel& w, int64_t u, int32_t* sums) {
  tiles.template load<4 + turn>(w.codes + u * kUnit * kOutputs, 4 * kOutputs);
  tiles.template load<2 + turn>(x.codes + row * x.k + u * kUnit, x.k);
  tiles.template zero<turn>();
  tiles.template multiply<turn, 2 + turn, 4 + turn>();
  tiles.template store<turn>(sums, 4 * kOutputs);
}

/// Sixteen outputs of sixteen rows, in registers where these are wide.
using TileLanes = VF[kTileRows][kGroups];

/// Adds unit u.
template <DType T>
HWY_INLINE void addUnit(const Q8Rows& x, int64_t row, const Q8Panel& w, int64_t u, const int32_t* sums,
                        TileLanes& lanes) {
  constexpr int64_t kPerBlock = kXBlock / BlockUnits<T>::kUnit;
  const DF d;
  const hn::RebindToSigned<DF> di;
  for (int64_t g = 0; g < kGroups; ++g) {
    const VF scale = hn::LoadU(d, w.scales + u * kOutputs + g * kLanes);
    KVLAB_UNROLL for (int64_t i = 0; i < kTileRows; ++i) {
      auto sum = hn::LoadU(di, sums + i * kOutputs + g * kLanes);
      if constexpr (BlockUnits<T>::kOffset != 0)
        sum = hn::Sub(sum, hn::Set(di, BlockUnits<T>::kOffset * x.sums[(row + i) * x.units + u]));
      const VF xScale = hn::Set(d, x.scales[(row + i) * (x.k / kXBlock) + u / kPerBlock]);
      lanes[i][g] = mulAdd(hn::Mul(hn::ConvertTo(d, sum), xScale), scale, lanes[i][g]);
      if constexpr (BlockUnits<T>::kLeast)
        lanes[i][g] = mulAdd(hn::Set(d, x.scaledSums[(row + i) * x.units + u]),
                             hn::LoadU(d, w.least + u * kOutputs + g * kLanes), lanes[i][g]);
    }
  }
}

/// Every second unit from `first` on.
template <DType T, class Tiles>
HWY_INLINE void sweepTiles(Tiles& tiles, const Q8Rows& x, int64_t row, const Q8Panel& w, int64_t first,
                           TileLanes& lanes) {
  constexpr int64_t kUnit = BlockUnits<T>::kUnit;
  alignas(64) int32_t sums[2][kTileRows * kOutputs];
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t g = 0; g < kGroups; ++g) lanes[i][g] = hn::Zero(DF());
  int64_t u = first;
  for (; u + 2 < x.units; u += 4) {
    sumsOfUnit<kUnit, 0>(tiles, x, row, w, u, sums[0]);
    sumsOfUnit<kUnit, 1>(tiles, x, row, w, u + 2, sums[1]);
    addUnit<T>(x, row, w, u, sums[0], lanes);
    addUnit<T>(x, row, w, u + 2, sums[1], lanes);
  }
  if (u >= x.units) return;
  sumsOfUnit<kUnit, 0>(tiles, x, row, w, u, sums[0]);
  addUnit<T>(x, row, w, u, sums[0], lanes);
}

/// Sixteen outputs of sixteen rows from row `row` on.
template <DType T, class Tiles>
void walkTiles(Tiles& tiles, const Q8Rows& x, int64_t row, const Q8Panel& w, float (*out)[kOutputs]) {
  TileLanes even, odd;
  sweepTiles<T>(tiles, x, row, w, 0, even);
  sweepTiles<T>(tiles, x, row, w, 1, odd);
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t g = 0; g < kGroups; ++g) hn::StoreU(hn::Add(even[i][g], odd[i][g]), DF(), out[i] + g * kLanes);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_Q8_TILES_INL_H
