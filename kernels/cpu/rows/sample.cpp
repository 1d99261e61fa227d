// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/sample.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/runtime/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE float largest(const float* x, int64_t n, float scale) {
  const DF d;
  float best = -std::numeric_limits<float>::infinity();
  VF lanes = hn::Set(d, best);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) lanes = hn::Max(lanes, hn::Mul(hn::LoadU(d, x + i), hn::Set(d, scale)));
  for (; i < n; ++i) best = std::max(best, x[i] * scale);
  return std::max(best, hn::GetLane(hn::MaxOfLanes(d, lanes)));
}

/// exp(x * scale - shift), minus infinity and padding give 0.
HWY_INLINE VF expShifted(VF x, float scale, float shift) {
  const DF d;
  return expF32(d, hn::Sub(hn::Mul(x, hn::Set(d, scale)), hn::Set(d, shift)));
}

HWY_INLINE void expStep(const float* x, float* out, float scale, float shift, VF* sums) {
  const DF d;
  for (int64_t g = 0; g < kGroups; ++g) {
    const VF e = expShifted(hn::LoadU(d, x + g * kLanes), scale, shift);
    hn::StoreU(e, d, out + g * kLanes);
    sums[g] = hn::Add(sums[g], e);
  }
}

HWY_INLINE float expAndSum(const SoftmaxArgs& a, float shift) {
  const DF d;
  VF sums[kGroups];
  for (int64_t g = 0; g < kGroups; ++g) sums[g] = hn::Zero(d);
  int64_t i = 0;
  for (; i + kVirtualLanes <= a.n; i += kVirtualLanes) {
    expStep(a.x + i, a.out + i, a.scale, shift, sums);
  }
  if (i < a.n) {
    float tail[kVirtualLanes];
    std::fill_n(tail, kVirtualLanes, -std::numeric_limits<float>::infinity());
    memcpy(tail, a.x + i, static_cast<size_t>(a.n - i) * 4);
    expStep(tail, tail, a.scale, shift, sums);
    memcpy(a.out + i, tail, static_cast<size_t>(a.n - i) * 4);
  }
  return reduceGroups(sums);
}

}  // namespace

void softmaxTarget(const SoftmaxArgs& a) {
  const float sum = expAndSum(a, largest(a.x, a.n, a.scale));
  for (int64_t i = 0; i < a.n; ++i) a.out[i] /= sum;
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {
HWY_EXPORT(softmaxTarget);

void softmax(const Context&, const SoftmaxArgs& a) {
  if (a.n > 0) HWY_DYNAMIC_DISPATCH(softmaxTarget)(a);
}

void argmax(const Context&, const ArgmaxArgs& a) {
  int64_t best = 0;
  for (int64_t i = 1; i < a.n; ++i) {
    if (a.x[i] > a.x[best] || (std::isnan(a.x[best]) && !std::isnan(a.x[i]))) best = i;
  }
  *a.index = best;
}

void topk(const Context& context, const TopkArgs& a) {
  const auto before = [&](int32_t l, int32_t r) {
    const bool lNan = std::isnan(a.x[l]), rNan = std::isnan(a.x[r]);
    if (lNan != rNan) return rNan;
    if (!lNan && a.x[l] != a.x[r]) return a.x[l] > a.x[r];
    return l < r;
  };
  auto* all = reinterpret_cast<int32_t*>(context.pool->sharedScratch(static_cast<size_t>(a.n) * sizeof(int32_t)));
  std::iota(all, all + a.n, 0);
  std::partial_sort(all, all + a.k, all + a.n, before);
  std::copy(all, all + a.k, a.indices);
  for (int64_t i = 0; a.values && i < a.k; ++i) a.values[i] = a.x[all[i]];
}

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
