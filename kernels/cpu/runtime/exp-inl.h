// SPDX-License-Identifier: Apache-2.0
// exp in f32: x = n ln2 + r with |r| <= ln2 / 2, e^r = 1 + r + r^2 q(r), scaled by 2^n.
// q is a minimax fit (relative error of e^r below 0.06 * 2^-24). About 1 ulp. Below -87.33 the
// result is 0, above 88 it saturates; NaN stays NaN. A fixed order of operations per element, so
// equal bits for every vector width.
#if defined(KVLAB_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_EXP_INL_H
#undef KVLAB_EXP_INL_H
#else
#define KVLAB_EXP_INL_H
#endif

#include "kernels/cpu/runtime/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

template <class D>
HWY_INLINE hn::Vec<D> expF32(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto tooSmall = hn::Lt(x, hn::Set(d, -87.33f));
  // Adding 1.5 * 2^23 rounds to an integer, which then sits in the low mantissa bits.
  const auto magic = hn::Set(d, 12582912.0f);
  const auto capped = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.0f)), hn::Set(d, 88.0f), x);
  const auto shifted = mulAdd(capped, hn::Set(d, 0x1.715476p+0f), magic);
  const auto n = hn::Sub(shifted, magic);
  auto r = negMulAdd(n, hn::Set(d, 0x1.62e43p-1f), capped);
  r = negMulAdd(n, hn::Set(d, -0x1.05c61p-29f), r);
  auto q = mulAdd(hn::Set(d, 0x1.6a241ap-10f), r, hn::Set(d, 0x1.1239f2p-7f));
  q = mulAdd(q, r, hn::Set(d, 0x1.5558f2p-5f));
  q = mulAdd(q, r, hn::Set(d, 0x1.555492p-3f));
  q = mulAdd(q, r, hn::Set(d, 0x1.fffffcp-2f));
  const auto y = hn::Add(mulAdd(hn::Mul(r, r), q, r), hn::Set(d, 1.0f));
  const auto exponent = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic));
  const auto scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(di, 127))));
  return hn::IfThenZeroElse(tooSmall, hn::Mul(y, scale));
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_EXP_INL_H
