// SPDX-License-Identifier: Apache-2.0
// tanh in f32. Up to 0.625: x + x^3 p(x^2), p a minimax fit (relative error below 0.15 * 2^-24); above: (1 - e) / (1 +
// e) with e = exp(-2|x|). About 1 ulp; NaN stays NaN. A fixed order of operations per element, so equal bits for every
// vector width.
#if defined(KVLAB_TANH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_TANH_INL_H
#undef KVLAB_TANH_INL_H
#else
#define KVLAB_TANH_INL_H
#endif

#include "kernels/cpu/runtime/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

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
#endif  // KVLAB_TANH_INL_H
