// SPDX-License-Identifier: Apache-2.0
// Products of integers (numerics.h, "portable-q8") of many rows with a panel of 16 rows of weights, by AVX512-VNNI: the
// arithmetic of walk() in matmul_q8.cpp, in registers alone. The ports of the products limit it: eight of them
// and three operations of floats for each unit of a row.
#if defined(KVLAB_Q8_WALK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_Q8_WALK_INL_H
#undef KVLAB_Q8_WALK_INL_H
#else
#define KVLAB_Q8_WALK_INL_H
#endif

#include <utility>

#include "kernels/cpu/linear/q8_stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
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
  template <int R>
  static HWY_NOINLINE void rows(const Q8Rows& x, int64_t row, const Q8Panel& w, float (*out)[kOutputs]) {
    const int64_t blocks = x.k / kXBlock;
    walkUnits<T, R>(Q8Place<R>{x.codes + row * x.k, x.scales + row * blocks, x.scaledSums + row * x.units,
                               x.sums + row * x.units, x.k, blocks, x.units},
                    w, out, std::make_integer_sequence<int, R>());
  }
};
#endif

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_Q8_WALK_INL_H
