// SPDX-License-Identifier: Apache-2.0
// Probability masses from what attention.cpp kept: exp(score - maximum of the block), scaled once the
// maximum and the sum of the whole row are known. Queries are added in ascending order, so chunks of a
// prefill add up to the bits of one call.
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

/// What turns the kept values of a block into probabilities; 0 where nothing was kept.
HWY_INLINE float factorOf(const Call& c, int64_t q, int64_t queryHead, int64_t block) {
  const float maximum = c.maxima[c.keptAt(q, queryHead, block)];
  const Softmax& row = c.finals[(q - c.stored) * c.a.queryHeads + queryHead];
  return maximum == kMinusInfinity || row.sum == 0.0f ? 0.0f : expOne(maximum - row.max) / row.sum;
}

/// mean [64] over query heads, of the rows of a block.
HWY_INLINE void headMean(const Call& c, int64_t q, int64_t block, const Part& part, float* perHead,
                         float* mean) {
  const int64_t start = block * kAttentionBlock - c.a.indexBase;
  std::fill(mean, mean + kAttentionBlock, 0.0f);
  for (int64_t h = 0; h < c.a.queryHeads; ++h) {
    const float factor = factorOf(c, q, h, block);
    if (factor == 0.0f) continue;
    alignas(64) float p[kAttentionBlock];
    scaleBlock(c.kept + c.keptAt(q, h, block) * kAttentionBlock, factor, p, mean);
    if (perHead) std::copy(p + part.lo, p + part.rowsEnd, perHead + h * (c.a.rows + 1) + start + part.lo);
  }
  for (int64_t i = 0; i < kAttentionBlock; ++i) mean[i] /= static_cast<float>(c.a.queryHeads);
}

HWY_INLINE void massesOfRows(const Call& c, int64_t q1, int64_t block) {
  const int64_t start = block * kAttentionBlock - c.a.indexBase;
  alignas(64) float mean[kAttentionBlock];
  for (int64_t q = c.stored; q < q1; ++q) {
    const Part part = partOf(rangeOf(c.a, q), start);
    if (part.lo >= part.rowsEnd) continue;
    const bool newest = q == c.a.nQueries - 1;
    headMean(c, q, block, part, newest ? c.a.newestPerHead : nullptr, mean);
    for (int64_t i = part.lo; c.a.receivedMass && i < part.rowsEnd; ++i) c.a.receivedMass[start + i] += mean[i];
    if (newest && c.a.newestMass) std::copy(mean + part.lo, mean + part.rowsEnd, c.a.newestMass + start + part.lo);
  }
}

/// The self row: another block for every query, one entry for all of them.
HWY_INLINE void massOfSelf(const Call& c, int64_t q) {
  const Range range = rangeOf(c.a, q);
  if (!range.hasSelf()) return;
  const int64_t at = c.a.indexBase + range.end, block = at / kAttentionBlock;
  const bool newest = q == c.a.nQueries - 1;
  float mean = 0.0f;
  for (int64_t h = 0; h < c.a.queryHeads; ++h) {
    const float factor = factorOf(c, q, h, block);
    const float p = factor == 0.0f ? 0.0f : c.kept[c.keptAt(q, h, block) * kAttentionBlock + at % kAttentionBlock] * factor;
    mean += p;
    if (newest && c.a.newestPerHead) c.a.newestPerHead[h * (c.a.rows + 1) + c.a.rows] = p;
  }
  mean /= static_cast<float>(c.a.queryHeads);
  if (c.a.receivedMass) c.a.receivedMass[c.a.rows] += mean;
  if (newest && c.a.newestMass) c.a.newestMass[c.a.rows] = mean;
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
