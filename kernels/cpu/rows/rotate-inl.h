// SPDX-License-Identifier: Apache-2.0
// The rotation of one head (ops/rope.h), shared by rope and by attention's read of keys so that
// both give equal bits: lo' = lo cos - (hi sin), hi' = hi cos + (lo sin), the bracket rounded first.
#if defined(KVLAB_ROTATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_ROTATE_INL_H
#undef KVLAB_ROTATE_INL_H
#else
#define KVLAB_ROTATE_INL_H
#endif

#include "kernels/cpu/rows/row_codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// from [headDim] of type T with its scale, to [headDim] f32 (may be the same memory when T is f32).
template <DType T>
HWY_INLINE void rotateHead(const uint8_t* from, const uint8_t* scale, const float* table, int64_t headDim, float* to) {
  constexpr int64_t kBytes = dtypeBytes(T);
  const int64_t half = headDim / 2;
  forHead(half, [&](auto d, int64_t i) {
    const HeadReader<T, decltype(d)> head(d, scale);
    const auto lo = head.load(d, from + i * kBytes);
    const auto hi = head.load(d, from + (i + half) * kBytes);
    const auto cosine = hn::LoadU(d, table + i);
    const auto sine = hn::LoadU(d, table + half + i);
    hn::StoreU(mulSub(lo, cosine, hn::Mul(hi, sine)), d, to + i);
    hn::StoreU(mulAdd(hi, cosine, hn::Mul(lo, sine)), d, to + half + i);
  });
  if (headDim % 2 == 0) return;
  const hn::CappedTag<float, 1> one;  // the value without a partner
  const HeadReader<T, decltype(one)> head(one, scale);
  hn::StoreU(head.load(one, from + 2 * half * kBytes), one, to + 2 * half);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_ROTATE_INL_H
