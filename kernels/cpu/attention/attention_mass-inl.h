// SPDX-License-Identifier: Apache-2.0
// Makes probability masses from the values that attention.cpp kept: exp(score - maximum of the block), scaled
// once the maximum and the sum of the whole row are known. Queries add in ascending order, so chunks of a
// prefill add up to the bits of one call.
#if defined(KVLAB_ATTENTION_MASS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_ATTENTION_MASS_INL_H
#undef KVLAB_ATTENTION_MASS_INL_H
#else
#define KVLAB_ATTENTION_MASS_INL_H
#endif

#include <algorithm>
#include <utility>

#include "kernels/cpu/attention/attention_plan-inl.h"
#include "kernels/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// p[i] = kept[i] * factor and mean[i] += p[i], for i in [0, 64).
HWY_INLINE void scaleBlock(const float* kept, float factor, float* p, float* mean) {
  const DF d;
  const VF f = hn::Set(d, factor);
  for (int64_t i = 0; i < kAttentionBlock; i += kLanes) {
    const VF scaled = hn::Mul(hn::LoadU(d, kept + i), f);
    hn::Store(scaled, d, p + i);
    hn::Store(hn::Add(hn::Load(d, mean + i), scaled), d, mean + i);
  }
}

/// The factor that turns the kept values of a block into probabilities; 0 where nothing was kept.
HWY_INLINE float factorOf(const Call& c, int64_t q, int64_t queryHead, int64_t block) {
  const float maximum = c.maxima[c.keptAt(q, queryHead, block)];
  const Softmax& row = c.finals[(q - c.stored) * c.a.queryHeads + queryHead];
  return maximum == kMinusInfinity || row.sum == 0.0f ? 0.0f : expOne(maximum - row.max) / row.sum;
}

/// Further outputs for the probabilities of one query: entries [at, at + count) of every list.
struct MassTarget {
  const AttentionArgs& a;
  int64_t q, at, count;
  bool newest;

  /// Outputs for one query head; `largest` [count]: maxima of its group so far.
  HWY_INLINE void head(int64_t h, const float* p, float* largest) const {
    const int64_t entry = h * (a.rows + 1) + at;
    if (newest && a.mass.newestPerHead) std::copy(p, p + count, a.mass.newestPerHead + entry);
    for (int64_t i = 0; a.mass.receivedPerHead && i < count; ++i) a.mass.receivedPerHead[entry + i] += p[i];
    for (int64_t i = 0; a.mass.lastAbove && i < count; ++i) largest[i] = p[i] > largest[i] ? p[i] : largest[i];
  }

  /// Call it behind the last head of a group: the next group begins new maxima.
  HWY_INLINE void group(int64_t kvHead, float* largest) const {
    if (!a.mass.lastAbove) return;
    int32_t* last = a.mass.lastAbove + kvHead * (a.rows + 1) + at;
    for (int64_t i = 0; i < count; ++i)
      if (std::exchange(largest[i], 0.0f) > a.aboveThreshold) last[i] = std::max(last[i], a.queryIndex[q]);
  }

  HWY_INLINE void mean(const float* values) const {
    for (int64_t i = 0; a.mass.received && i < count; ++i) a.mass.received[at + i] += values[i];
    if (newest && a.mass.newest) std::copy(values, values + count, a.mass.newest + at);
  }
};

HWY_INLINE void massesOfQuery(const Call& c, int64_t q, int64_t block, const Part& part) {
  const int64_t start = block * kAttentionBlock - c.a.indexBase;
  const MassTarget to{c.a, q, start + part.lo, part.rowsEnd - part.lo, q == c.a.nQueries - 1};
  alignas(64) float mean[kAttentionBlock] = {}, p[kAttentionBlock], largest[kAttentionBlock] = {};
  for (int64_t h = 0; h < c.a.queryHeads; ++h) {
    const float factor = factorOf(c, q, h, block);
    if (factor != 0.0f) {
      scaleBlock(c.kept + c.keptAt(q, h, block) * kAttentionBlock, factor, p, mean);
      to.head(h, p + part.lo, largest);
    }
    if ((h + 1) % c.group == 0) to.group(h / c.group, largest);
  }
  for (int64_t i = 0; i < kAttentionBlock; ++i) mean[i] /= static_cast<float>(c.a.queryHeads);
  to.mean(mean + part.lo);
}

HWY_INLINE void massesOfRows(const Call& c, int64_t q1, int64_t block) {
  for (int64_t q = c.stored; q < q1; ++q) {
    const Part part = partOf(rangeOf(c.a, q), block * kAttentionBlock - c.a.indexBase);
    if (part.lo < part.rowsEnd) massesOfQuery(c, q, block, part);
  }
}

/// The self row lies in another block for every query, and all queries share one entry.
HWY_INLINE void massOfSelf(const Call& c, int64_t q) {
  const Range range = rangeOf(c.a, q);
  if (!range.hasSelf()) return;
  const int64_t at = c.a.indexBase + range.end, block = at / kAttentionBlock;
  const MassTarget to{c.a, q, c.a.rows, 1, q == c.a.nQueries - 1};
  float mean = 0.0f, largest = 0.0f;
  for (int64_t h = 0; h < c.a.queryHeads; ++h) {
    const float factor = factorOf(c, q, h, block);
    const float p =
        factor == 0.0f ? 0.0f : c.kept[c.keptAt(q, h, block) * kAttentionBlock + at % kAttentionBlock] * factor;
    mean += p;
    to.head(h, &p, &largest);
    if ((h + 1) % c.group == 0) to.group(h / c.group, &largest);
  }
  mean /= static_cast<float>(c.a.queryHeads);
  to.mean(&mean);
}

inline void writeMasses(ThreadPool& pool, const Call& c, int64_t q1) {
  const int64_t perBlock = (q1 - c.stored) * c.a.queryHeads * kAttentionBlock;
  const int64_t first = c.a.indexBase / kAttentionBlock;
  pool.parallelFor(first, first + c.keptBlocks, std::max<int64_t>(1, 16384 / perBlock),
                   [&](int64_t from, int64_t to, int) {
                     for (int64_t block = from; block < to; ++block) massesOfRows(c, q1, block);
                   });
  for (int64_t q = c.stored; q < q1; ++q) massOfSelf(c, q);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_ATTENTION_MASS_INL_H
