// SPDX-License-Identifier: Apache-2.0
// exp and tanh in f32, about 1 ulp; a fixed order of operations per element, so equal bits for every vector width.
//
// exp: x = n ln2 + r with |r| <= ln2 / 2, e^r = 1 + r + r^2 q(r), scaled by 2^n.
// q is a minimax fit (relative error of e^r below 0.06 * 2^-24). Below -87.33 the result is 0, above 88 it saturates;
// NaN stays NaN.
//
// tanh: up to 0.625: x + x^3 p(x^2), p a minimax fit (relative error below 0.15 * 2^-24); above: (1 - e) / (1 + e) with
// e = exp(-2|x|). NaN stays NaN.
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

/// e^x of one value, the same bits as in a vector.
HWY_INLINE float expOne(float x) {
  const hn::CappedTag<float, 1> d;
  return hn::GetLane(expF32(d, hn::Set(d, x)));
}

template <class D>
HWY_INLINE hn::Vec<D> tanhF32(D d, hn::Vec<D> x) {
  const auto magnitude = hn::Abs(x), z = hn::Mul(x, x), one = hn::Set(d, 1.0f);
  auto p = mulAdd(hn::Set(d, -0x1.75e17ap-8f), z, hn::Set(d, 0x1.522688p-6f));
  p = mulAdd(p, z, hn::Set(d, -0x1.b83c56p-5f));
  p = mulAdd(p, z, hn::Set(d, 0x1.110726p-3f));
  p = mulAdd(p, z, hn::Set(d, -0x1.555532p-2f));
  const auto near = mulAdd(hn::Mul(x, z), p, x);
  const auto e = expF32(d, hn::Mul(magnitude, hn::Set(d, -2.0f)));
  const auto far = hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), near, far);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_EXP_INL_H
