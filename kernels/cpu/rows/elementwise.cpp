// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/elementwise.h"

#include <algorithm>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/elementwise.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/runtime/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kGrain = 32768;

/// g u / (1 + exp(-s)). exp(-|s|) never overflows: g / (1 + e) for s >= 0, g e / (1 + e) below.
HWY_INLINE VF gatedValue(VF g, VF s, VF u) {
  const DF d;
  const VF e = expF32(d, hn::Neg(hn::Abs(s)));
  const VF numerator = hn::IfThenElse(hn::Lt(s, hn::Zero(d)), hn::Mul(g, e), g);
  return hn::Mul(hn::Div(numerator, hn::Add(hn::Set(d, 1.0f), e)), u);
}

template <GateFunction F>
HWY_INLINE VF swigluValue(VF g, VF u) {
  const DF d;
  if constexpr (F == GateFunction::silu) return gatedValue(g, g, u);
  if constexpr (F == GateFunction::clampedSilu) {
    const VF limit = hn::Set(d, kClampedSiluLimit);
    const VF gate = hn::IfThenElse(hn::Gt(g, limit), limit, g);
    const VF least = hn::IfThenElse(hn::Lt(u, hn::Neg(limit)), hn::Neg(limit), u);
    const VF up = hn::IfThenElse(hn::Gt(least, limit), limit, least);
    return gatedValue(gate, hn::Mul(gate, hn::Set(d, kClampedSiluSlope)), hn::Add(up, hn::Set(d, 1.0f)));
  }
  const VF inner = mulAdd(hn::Mul(hn::Mul(g, g), g), hn::Set(d, 0.044715f), g);
  return gatedValue(g, hn::Mul(inner, hn::Set(d, 1.5957691216f)), u);
}

template <GateFunction F>
HWY_INLINE void swigluRow(const float* gate, const float* up, float* out, int64_t count) {
  const DF d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(swigluValue<F>(hn::LoadU(d, gate + i), hn::LoadU(d, up + i)), d, out + i);
  }
  if (i >= count) return;
  const auto bytes = static_cast<size_t>(count - i) * 4;
  alignas(64) float g[16] = {};
  alignas(64) float u[16] = {};
  memcpy(g, gate + i, bytes);
  memcpy(u, up + i, bytes);
  hn::Store(swigluValue<F>(hn::Load(d, g), hn::Load(d, u)), d, g);
  memcpy(out + i, g, bytes);
}

HWY_INLINE VF cappedValue(VF x, float cap) {
  const DF d;
  return hn::Mul(tanhF32(d, hn::Div(x, hn::Set(d, cap))), hn::Set(d, cap));
}

HWY_INLINE void softcapRow(float* x, int64_t count, float cap) {
  const DF d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(cappedValue(hn::LoadU(d, x + i), cap), d, x + i);
  if (i >= count) return;
  const auto bytes = static_cast<size_t>(count - i) * 4;
  alignas(64) float rest[16] = {};
  memcpy(rest, x + i, bytes);
  hn::Store(cappedValue(hn::Load(d, rest), cap), d, rest);
  memcpy(x + i, rest, bytes);
}

}  // namespace

void addTarget(ThreadPool& pool, const AddArgs& a) {
  pool.parallelFor(0, a.count, kGrain, [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) a.out[i] = a.a[i] + a.b[i];
  });
}

void swigluTarget(ThreadPool& pool, SwigluArgs a) {
  if (a.gateStride == 0) a.gateStride = a.dim;
  if (a.upStride == 0) a.upStride = a.dim;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, a.dim));
  pool.parallelFor(0, a.rows, grain, [&](int64_t from, int64_t to, int) {
    const auto row = a.function == GateFunction::silu ? &swigluRow<GateFunction::silu>
        : a.function == GateFunction::geluTanh        ? &swigluRow<GateFunction::geluTanh>
                                                      : &swigluRow<GateFunction::clampedSilu>;
    for (int64_t r = from; r < to; ++r) row(a.gate + r * a.gateStride, a.up + r * a.upStride, a.out + r * a.dim, a.dim);
  });
}

void softcapTarget(ThreadPool& pool, const SoftcapArgs& a) {
  pool.parallelFor(0, a.count, kGrain,
                   [&](int64_t from, int64_t to, int) { softcapRow(a.x + from, to - from, a.cap); });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {

KVLAB_CPU_OP(add, AddArgs)
KVLAB_CPU_OP(swiglu, SwigluArgs)
KVLAB_CPU_OP(softcap, SoftcapArgs)

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
