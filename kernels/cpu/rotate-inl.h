// SPDX-License-Identifier: Apache-2.0
// The rotation of one head (ops/rope.h), shared by rope and by attention's read of keys so that
// both give equal bits: lo' = lo cos - (hi sin), hi' = hi cos + (lo sin), the bracket rounded first.
#if defined(KVLAB_ROTATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_ROTATE_INL_H
#undef KVLAB_ROTATE_INL_H
#else
#define KVLAB_ROTATE_INL_H
#endif

#include "kernels/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// from [headDim] of type T, to [headDim] f32 (may be the same memory when T is f32).
template <DType T, class D>
HWY_INLINE void rotateWith(D d, const uint8_t* from, const float* table, int64_t half, float* to) {
  constexpr int64_t kBytes = dtypeBytes(T);
  for (int64_t i = 0; i < half; i += static_cast<int64_t>(hn::MaxLanes(d))) {
    const auto lo = loadAs<T>(d, from + i * kBytes);
    const auto hi = loadAs<T>(d, from + (i + half) * kBytes);
    const auto cosine = hn::LoadU(d, table + i);
    const auto sine = hn::LoadU(d, table + half + i);
    hn::StoreU(mulAdd(lo, cosine, hn::Neg(hn::Mul(hi, sine))), d, to + i);
    hn::StoreU(mulAdd(hi, cosine, hn::Mul(lo, sine)), d, to + half + i);
  }
}

/// headDim is a multiple of 8, so half of it is one of 4.
template <DType T>
HWY_INLINE void rotateHead(const uint8_t* from, const float* table, int64_t headDim, float* to) {
  const int64_t half = headDim / 2;
  if (half % kLanes == 0) {
    rotateWith<T>(DF(), from, table, half, to);
  } else {
    rotateWith<T>(hn::CappedTag<float, 4>(), from, table, half, to);
  }
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_ROTATE_INL_H
