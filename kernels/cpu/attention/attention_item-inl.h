// SPDX-License-Identifier: Apache-2.0
// The common part of all items of attention, whether an item copies rows or reads them in place: softmax of a
// block, results of a block, prefetching of rows.
#if defined(KVLAB_ATTENTION_ITEM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_ATTENTION_ITEM_INL_H
#undef KVLAB_ATTENTION_ITEM_INL_H
#else
#define KVLAB_ATTENTION_ITEM_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/attention/attention_plan-inl.h"
#include "kernels/cpu/rows/row_codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

constexpr int64_t kRowsAhead = 64;  // rows prefetched ahead of their use

/// Rows of one head lie a record apart, too far for the hardware to prefetch.
HWY_INLINE void prefetchPiece(const uint8_t* values, const uint8_t* scales, const RowFormat& f, DType t, int64_t head0,
                              int64_t head1) {
  const int64_t bytes = f.headDim * dtypeBytes(t);
  for (int64_t at = head0 * bytes; at < head1 * bytes; at += 64) prefetchFar(values + at);
  if (dtypeHasScale(t)) prefetchFar(scales + 4 * head0);
}

HWY_INLINE void prefetchKeys(const Call& c, const Item& item, int64_t position) {
  if (position >= c.a.rows) return;
  const uint8_t* record = c.a.pool + c.a.slots[position] * c.layout.stride;
  prefetchPiece(record + c.layout.k, record + c.layout.kScales, c.a.fmt, c.a.fmt.k, item.head0, item.head1);
}

HWY_INLINE void prefetchValues(const Call& c, int64_t position, int64_t head0, int64_t head1) {
  if (position >= c.a.rows) return;
  const uint8_t* record = c.a.pool + c.a.slots[position] * c.layout.stride;
  prefetchPiece(record + c.layout.v, record + c.layout.vScales, c.a.fmt, c.a.fmt.v, head0, head1);
}

HWY_INLINE void keepBlock(const Call& c, int64_t q, int64_t queryHead, int64_t block, const float* p, float maximum) {
  if (q < c.stored) return;
  const int64_t at = c.keptAt(q, queryHead, block);
  c.maxima[at] = maximum;
  std::copy(p, p + kAttentionBlock, c.kept + at * kAttentionBlock);
}

/// One query head: scores of the block -> weights, and their Softmax.
HWY_INLINE Softmax softenRow(const Call& c, const Part& p, float* s, int64_t q, int64_t queryHead, int64_t start) {
  Softmax block;
  block.max = maskScores(s, p.lo, p.hi, c.a.scale, c.a.cap);
  block.sum = expScores(s, block.max);
  keepBlock(c, q, queryHead, (start + c.a.indexBase) / kAttentionBlock, s, block.max);
  return block;
}

HWY_INLINE void storeOrMerge(const Call& c, const Item& item, const Buffers& b, int64_t partial, int64_t row,
                             const Softmax& block, const float* values) {
  if (!item.partials) {
    mergeBlock(b.states[row], b.running + row * c.dim, block, values, c.dim);
    return;
  }
  const int64_t at = partial * c.tile * c.group + row;
  item.partials->states[at] = block;
  std::copy(values, values + c.dim, item.partials->values + at * c.dim);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_ATTENTION_ITEM_INL_H
