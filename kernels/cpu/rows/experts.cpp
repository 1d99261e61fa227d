// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/experts.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/experts.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/runtime/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kRowGrain = 65536;  // values

/// The expert after `last` in order of scores; not a number ranks last. last < 0: the first.
HWY_INLINE int32_t nextExpert(const float* scores, int32_t experts, int32_t last) {
  const auto rank = [&](int32_t e) {
    return scores[e] == scores[e] ? scores[e] : -std::numeric_limits<float>::infinity();
  };
  int32_t best = -1;
  for (int32_t e = 0; e < experts; ++e) {
    const bool after = last < 0 || rank(e) < rank(last) || (rank(e) == rank(last) && e > last);
    if (after && (best < 0 || rank(e) > rank(best))) best = e;
  }
  return best;
}

HWY_INLINE void routeRow(const RouteArgs& a, int64_t row) {
  const float* scores = a.scores + row * a.experts;
  int32_t* chosen = a.chosen + row * a.top;
  float* weights = a.weights + row * a.top;
  float own[kExpertsMax];
  for (int32_t i = 0; i < a.top; ++i) chosen[i] = nextExpert(scores, a.experts, i == 0 ? -1 : chosen[i - 1]);
  for (int32_t e = 0; e < a.experts; ++e) own[e] = expOne(scores[e] - scores[chosen[0]]);
  float sum = 0.0f;
  for (int32_t e = 0; e < a.experts; ++e)
    if (!a.normalised || std::find(chosen, chosen + a.top, e) != chosen + a.top) sum += own[e];
  for (int32_t i = 0; i < a.top; ++i) weights[i] = own[chosen[i]] / sum;
}

}  // namespace

void routeTarget(ThreadPool& pool, const RouteArgs& a) {
  pool.parallelFor(0, a.n, 64, [&](int64_t from, int64_t to, int) {
    for (int64_t row = from; row < to; ++row) routeRow(a, row);
  });
}

void takeRowsTarget(ThreadPool& pool, const TakeRowsArgs& a) {
  pool.parallelFor(0, a.n, std::max<int64_t>(1, kRowGrain / a.dim), [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) std::copy_n(a.x + a.rows[i] * a.dim, a.dim, a.out + i * a.dim);
  });
}

void mixRowsTarget(ThreadPool& pool, const MixRowsArgs& a) {
  pool.parallelFor(0, a.n, std::max<int64_t>(1, kRowGrain / a.dim), [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) {
      const float* y = a.y + i * a.dim;
      float* x = a.x + a.rows[i] * a.dim;
      for (int64_t j = 0; j < a.dim; ++j) x[j] += a.weights[i] * y[j];
    }
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {

KVLAB_CPU_OP(route, RouteArgs)
KVLAB_CPU_OP(takeRows, TakeRowsArgs)
KVLAB_CPU_OP(mixRows, MixRowsArgs)

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
