// SPDX-License-Identifier: Apache-2.0
// Probability masses from the scores that attention.cpp kept, once maximum and sum are known. Queries
// are added in ascending order, so chunks of a prefill add up to the bits of one call.
#if defined(KVLAB_ATTENTION_MASS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_ATTENTION_MASS_INL_H
#undef KVLAB_ATTENTION_MASS_INL_H
#else
#define KVLAB_ATTENTION_MASS_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/attention_plan-inl.h"
#include "kernels/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// mean [16] over query heads of the probabilities of positions [j, j + 16); perHead as in the call.
HWY_INLINE void headMean(const Call& c, int64_t q, int64_t j, float* perHead, float* mean) {
  const DF d;
  const int64_t heads = c.a.queryHeads, count = std::min<int64_t>(16, c.a.rows + 1 - j);
  std::fill(mean, mean + 16, 0.0f);
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t at = (q - c.stored) * heads + h;
    const Softmax& s = c.finals[at];
    if (s.sum == 0.0f) continue;
    alignas(64) float p[16];
    for (int64_t i = 0; i < 16; i += kLanes) {
      const VF score = hn::LoadU(d, c.scores + at * c.scoreRow + j + i);
      const VF e = expF32(d, hn::Sub(score, hn::Set(d, s.max)));
      hn::Store(hn::Div(e, hn::Set(d, s.sum)), d, p + i);
      hn::StoreU(hn::Add(hn::LoadU(d, mean + i), hn::LoadU(d, p + i)), d, mean + i);
    }
    if (perHead) std::copy(p, p + count, perHead + h * (c.a.rows + 1) + j);
  }
  for (int64_t i = 0; i < 16; ++i) mean[i] /= static_cast<float>(heads);
}

HWY_INLINE void massesAt(const Call& c, int64_t q1, int64_t j) {
  const int64_t count = std::min<int64_t>(16, c.a.rows + 1 - j);
  alignas(64) float mean[16];
  for (int64_t q = c.stored; q < q1; ++q) {
    const bool newest = q == c.a.nQueries - 1;
    headMean(c, q, j, newest ? c.a.newestPerHead : nullptr, mean);
    for (int64_t i = 0; c.a.receivedMass && i < count; ++i) c.a.receivedMass[j + i] += mean[i];
    if (newest && c.a.newestMass) std::copy(mean, mean + count, c.a.newestMass + j);
  }
}

inline void writeMasses(ThreadPool& pool, const Call& c, int64_t q1) {
  const int64_t perRow = (q1 - c.stored) * c.a.queryHeads;
  const int64_t grain = std::max<int64_t>(1, 1024 / std::max<int64_t>(1, perRow));
  pool.parallelFor(0, (c.a.rows + 1 + 15) / 16, grain, [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) massesAt(c, q1, i * 16);
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_ATTENTION_MASS_INL_H
