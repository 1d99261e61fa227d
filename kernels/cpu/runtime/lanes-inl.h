// SPDX-License-Identifier: Apache-2.0
// The 16 virtual lanes on top of one Highway target: kGroups registers of kLanes floats. Loads and
// stores of storage types, and the fixed tree over the lanes (numerics.h).
#if defined(KVLAB_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_LANES_INL_H
#undef KVLAB_LANES_INL_H
#else
#define KVLAB_LANES_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "kernels/dtype.h"
#include "kernels/scalar_convert.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#undef KVLAB_SOFT_F16
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSE4
#define KVLAB_SOFT_F16 1
#else
#define KVLAB_SOFT_F16 0
#endif

constexpr int64_t kVirtualLanes = 16;
#if defined(KVLAB_MAX_LANES)  // narrower registers than the target has, to compare widths
using DF = hn::CappedTag<float, KVLAB_MAX_LANES>;
#else
using DF = hn::CappedTag<float, 16>;
#endif
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
constexpr int64_t kGroups = kVirtualLanes / kLanes;

/// a * b + c in one rounding; two on SSE4. Scalar code asks the C library, which is exact
/// everywhere, so that it can stand as a reference.
template <class V>
HWY_INLINE V mulAdd(V a, V b, V c) {
#if HWY_TARGET == HWY_SCALAR
  return V(__builtin_fmaf(a.raw, b.raw, c.raw));
#else
  return hn::MulAdd(a, b, c);
#endif
}

/// a * b - c, likewise.
template <class V>
HWY_INLINE V mulSub(V a, V b, V c) {
#if HWY_TARGET == HWY_SCALAR
  return V(__builtin_fmaf(a.raw, b.raw, -c.raw));
#else
  return hn::MulSub(a, b, c);
#endif
}

/// c - a * b, likewise.
template <class V>
HWY_INLINE V negMulAdd(V a, V b, V c) {
#if HWY_TARGET == HWY_SCALAR
  return V(__builtin_fmaf(-a.raw, b.raw, c.raw));
#else
  return hn::NegMulAdd(a, b, c);
#endif
}

/// Asks for a line in the second cache; into the first one the loads of the present rows slowed down.
HWY_INLINE void prefetchFar(const uint8_t* at) {
#if defined(__GNUC__)
  __builtin_prefetch(at, 0, 2);
#else
  hwy::Prefetch(at);
#endif
}

/// Lanes(d) values of type T from memory of any alignment, as f32; codes of i8 without their scale.
template <DType T, class D>
HWY_INLINE hn::Vec<D> loadAs(D d, const uint8_t* from) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> du16;
  if constexpr (T == DType::f32) {
    (void)du, (void)du16;
    return hn::LoadU(d, reinterpret_cast<const float*>(from));
  } else if constexpr (T == DType::bf16) {
    const auto bits = hn::LoadU(du16, reinterpret_cast<const uint16_t*>(from));
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
  } else if constexpr (T == DType::i8) {
    (void)du, (void)du16;
    const auto code = hn::LoadU(hn::Rebind<int8_t, D>(), reinterpret_cast<const int8_t*>(from));
    return hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<D>(), code));
  } else {
    static_assert(T == DType::f16);
    const auto half = hn::LoadU(du16, reinterpret_cast<const uint16_t*>(from));
#if KVLAB_SOFT_F16
    const auto bits = hn::PromoteTo(du, half);
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffu));
    const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
    const auto scaled = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1p112f));
    const hn::RebindToSigned<D> di;
    const auto wide = hn::BitCast(di, magnitude);
    const auto special = hn::IfThenElseZero(hn::Gt(wide, hn::Set(di, 0x7bff)), hn::Set(di, 0x7f800000));
    const auto quiet = hn::IfThenElseZero(hn::Gt(wide, hn::Set(di, 0x7c00)), hn::Set(di, 0x400000));
    const auto extra = hn::BitCast(du, hn::Or(special, quiet));
    return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(du, scaled), sign), extra));
#else
    (void)du;
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::PromoteTo(d, hn::BitCast(dh, half));
#endif
  }
}

/// Lanes(d) f32 values to memory of any alignment as type T, round to nearest even.
template <DType T, class D>
HWY_INLINE void storeAs(D d, hn::Vec<D> v, uint8_t* to) {
  if constexpr (T == DType::f32) {
    hn::StoreU(v, d, reinterpret_cast<float*>(to));
  } else if constexpr (T == DType::bf16) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const hn::Rebind<uint16_t, D> du16;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu))));
    const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40u));
    const auto isNan = hn::RebindMask(du, hn::Not(hn::Eq(v, v)));
    const auto chosen = hn::IfThenElse(isNan, quiet, rounded);
    hn::StoreU(hn::DemoteTo(du16, hn::BitCast(di, chosen)), du16, reinterpret_cast<uint16_t*>(to));
  } else {
#if KVLAB_SOFT_F16
    alignas(64) float wide[16];
    hn::Store(v, d, wide);
    for (size_t i = 0; i < hn::MaxLanes(d); ++i) {
      const uint16_t h = floatToHalf(wide[i]);
      memcpy(to + 2 * i, &h, 2);
    }
#else
    const hn::Rebind<hwy::float16_t, D> dh;
    const hn::Rebind<uint16_t, D> du16;
    const auto half = hn::BitCast(du16, hn::DemoteTo(dh, v));
    hn::StoreU(half, du16, reinterpret_cast<uint16_t*>(to));
#endif
  }
}

/// count values of type T -> f32.
template <DType T>
HWY_INLINE void readRow(const uint8_t* from, float* to, int64_t count) {
  const DF d;
  constexpr int64_t kBytes = dtypeBytes(T);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(loadAs<T>(d, from + i * kBytes), d, to + i);
  if (i >= count) return;
  alignas(64) uint8_t in[64] = {};
  alignas(64) float out[16];
  memcpy(in, from + i * kBytes, static_cast<size_t>((count - i) * kBytes));
  hn::Store(loadAs<T>(d, in), d, out);
  memcpy(to + i, out, static_cast<size_t>(count - i) * 4);
}

/// count f32 values -> type T.
template <DType T>
HWY_INLINE void writeRow(const float* from, uint8_t* to, int64_t count) {
  const DF d;
  constexpr int64_t kBytes = dtypeBytes(T);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) storeAs<T>(d, hn::LoadU(d, from + i), to + i * kBytes);
  if (i >= count) return;
  alignas(64) float in[16] = {};
  alignas(64) uint8_t out[64];
  memcpy(in, from + i, static_cast<size_t>(count - i) * 4);
  storeAs<T>(d, hn::Load(d, in), out);
  memcpy(to + i * kBytes, out, static_cast<size_t>((count - i) * kBytes));
}

/// Calls fn with the type as a compile-time constant; unsupported types do nothing.
template <class Fn>
HWY_INLINE void withDType(DType t, const Fn& fn) {
  switch (t) {
    case DType::f32: return fn(std::integral_constant<DType, DType::f32>());
    case DType::f16: return fn(std::integral_constant<DType, DType::f16>());
    case DType::bf16: return fn(std::integral_constant<DType, DType::bf16>());
    default: return;
  }
}

/// The tree over 16 lanes held in memory.
HWY_INLINE float reduceLanes(const float* lanes) {
  float a[8];
  for (int j = 0; j < 8; ++j) a[j] = lanes[j] + lanes[j + 8];
  for (int j = 0; j < 4; ++j) a[j] = a[j] + a[j + 4];
  return (a[0] + a[2]) + (a[1] + a[3]);
}

/// The same tree for four sets of 16 lanes, one result per set.
HWY_INLINE void reduceLanes4(const float* lanes, float* out) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 4; ++i) out[i] = reduceLanes(lanes + 16 * i);
#else
  const hn::FixedTag<float, 4> d;
  hn::Vec<decltype(d)> v[4];
  KVLAB_UNROLL for (int i = 0; i < 4; ++i) {
    const float* p = lanes + 16 * i;
    const auto low = hn::Add(hn::LoadU(d, p), hn::LoadU(d, p + 8));
    const auto high = hn::Add(hn::LoadU(d, p + 4), hn::LoadU(d, p + 12));
    v[i] = hn::Add(low, high);
  }
  const auto s01 = hn::Add(hn::ConcatLowerLower(d, v[1], v[0]), hn::ConcatUpperUpper(d, v[1], v[0]));
  const auto s23 = hn::Add(hn::ConcatLowerLower(d, v[3], v[2]), hn::ConcatUpperUpper(d, v[3], v[2]));
  hn::StoreU(hn::Add(hn::ConcatEven(d, s23, s01), hn::ConcatOdd(d, s23, s01)), d, out);
#endif
}

/// Eight sets.
HWY_INLINE void reduceLanes8(const float* lanes, float* out) {
#if HWY_TARGET == HWY_AVX2
  const hn::FixedTag<float, 8> d;
  const hn::Repartition<double, decltype(d)> dd;
  hn::Vec<decltype(d)> v[8], u[4], w[2];
  KVLAB_UNROLL for (int i = 0; i < 8; ++i) v[i] =
      hn::Add(hn::LoadU(d, lanes + 16 * i), hn::LoadU(d, lanes + 16 * i + 8));
  KVLAB_UNROLL for (int i = 0; i < 4; ++i) {  // set i in the lower half, set i + 4 in the upper
    u[i] = hn::Add(hn::ConcatLowerLower(d, v[i + 4], v[i]), hn::ConcatUpperUpper(d, v[i + 4], v[i]));
  }
  KVLAB_UNROLL for (int i = 0; i < 2; ++i) {
    const auto even = hn::BitCast(dd, u[2 * i]), odd = hn::BitCast(dd, u[2 * i + 1]);
    w[i] =
        hn::Add(hn::BitCast(d, hn::InterleaveLower(dd, even, odd)), hn::BitCast(d, hn::InterleaveUpper(dd, even, odd)));
  }
  const __m256 first = _mm256_shuffle_ps(w[0].raw, w[1].raw, 0x88),
               second = _mm256_shuffle_ps(w[0].raw, w[1].raw, 0xdd);
  _mm256_storeu_ps(out, _mm256_add_ps(first, second));
#elif HWY_TARGET == HWY_AVX3
  __m512 v[4], u[2];  // two sets each, four sets each
  KVLAB_UNROLL for (int i = 0; i < 4; ++i) {
    const __m512 a = _mm512_loadu_ps(lanes + 32 * i), b = _mm512_loadu_ps(lanes + 32 * i + 16);
    v[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  }
  KVLAB_UNROLL for (int i = 0; i < 2; ++i) u[i] = _mm512_add_ps(_mm512_shuffle_f32x4(v[2 * i], v[2 * i + 1], 0x88),
                                                                _mm512_shuffle_f32x4(v[2 * i], v[2 * i + 1], 0xdd));
  const __m512 pairs = _mm512_add_ps(_mm512_shuffle_ps(u[0], u[1], 0x44), _mm512_shuffle_ps(u[0], u[1], 0xee));
  const __m512 sums = _mm512_add_ps(pairs, _mm512_movehdup_ps(pairs));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0);
  _mm256_storeu_ps(out, _mm512_castps512_ps256(_mm512_permutexvar_ps(order, sums)));
#else
  reduceLanes4(lanes, out);
  reduceLanes4(lanes + 64, out + 4);
#endif
}

/// The rest of the tree for n sets of 8 sums of the lanes j and j + 8.
HWY_INLINE void reduceFolded(const float* sums, int64_t n, float* out) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  for (; i + 4 <= n; i += 4) {
    hn::Vec<decltype(d)> v[4];
    KVLAB_UNROLL for (int k = 0; k < 4; ++k) v[k] =
        hn::Add(hn::LoadU(d, sums + 8 * (i + k)), hn::LoadU(d, sums + 8 * (i + k) + 4));
    const auto s01 = hn::Add(hn::ConcatLowerLower(d, v[1], v[0]), hn::ConcatUpperUpper(d, v[1], v[0]));
    const auto s23 = hn::Add(hn::ConcatLowerLower(d, v[3], v[2]), hn::ConcatUpperUpper(d, v[3], v[2]));
    hn::StoreU(hn::Add(hn::ConcatEven(d, s23, s01), hn::ConcatOdd(d, s23, s01)), d, out + i);
  }
#endif
  for (; i < n; ++i) {
    const float* a = sums + 8 * i;
    float b[4];
    for (int j = 0; j < 4; ++j) b[j] = a[j] + a[j + 4];
    out[i] = (b[0] + b[2]) + (b[1] + b[3]);
  }
}

/// Sum over the lanes of one set held in registers.
HWY_INLINE float reduceGroups(const VF* groups) {
  alignas(64) float lanes[16];
  KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g) hn::Store(groups[g], DF(), lanes + g * kLanes);
  return reduceLanes(lanes);
}

/// A dot product of x with itself.
HWY_INLINE float sumOfSquares(const float* x, int64_t dim) {
  const DF d;
  VF lanes[kGroups];
  KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g) lanes[g] = hn::Zero(d);
  const auto step = [&](const float* at) {
    KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g) {
      const VF v = hn::LoadU(d, at + g * kLanes);
      lanes[g] = mulAdd(v, v, lanes[g]);
    }
  };
  int64_t i = 0;
  for (; i + kVirtualLanes <= dim; i += kVirtualLanes) step(x + i);
  if (i < dim) {
    float tail[kVirtualLanes] = {};
    memcpy(tail, x + i, static_cast<size_t>(dim - i) * 4);
    step(tail);
  }
  return reduceGroups(lanes);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_LANES_INL_H
