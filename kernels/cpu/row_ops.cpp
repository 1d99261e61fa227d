// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/row_ops.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include <hwy/cache_control.h>

#include "kernels/cpu/targets.h"
#include "kernels/row_checksum.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/row_ops.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kBytesPerTask = 65536;

HWY_INLINE int64_t recordsPerTask(const RowLayout& o) {
  return std::max<int64_t>(1, kBytesPerTask / o.stride);
}

template <class Fn>
void forRecords(ThreadPool& pool, int64_t n, const RowLayout& o, const Fn& fn) {
  pool.parallelFor(0, n, recordsPerTask(o), [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) fn(i);
  });
}

HWY_INLINE void writeRecord(const WriteRowsArgs& a, const RowLayout& o, int64_t values, int64_t i) {
  uint8_t* record = a.pool + a.slots[i] * o.stride;
  withDType(a.fmt.k, [&](auto t) { writeRow<t()>(a.k + i * a.kStride, record + o.k, values); });
  const int64_t kEnd = o.k + values * dtypeBytes(a.fmt.k);
  memset(record + kEnd, 0, static_cast<size_t>(o.v - kEnd));
  withDType(a.fmt.v, [&](auto t) { writeRow<t()>(a.v + i * a.vStride, record + o.v, values); });
  const int64_t vEnd = o.v + values * dtypeBytes(a.fmt.v);
  memset(record + vEnd, 0, static_cast<size_t>(o.tag - vEnd));
  memcpy(record + o.tag, a.tags + i, 8);
  const uint64_t sum = rowChecksum(record, o.tag);
  memcpy(record + o.checksum, &sum, 8);
}

}  // namespace

void writeRowsTarget(ThreadPool& pool, const WriteRowsArgs& a) {
  const RowLayout o = rowLayout(a.fmt);
  const int64_t values = int64_t{a.fmt.kvHeads} * a.fmt.headDim;
  forRecords(pool, a.n, o, [&](int64_t i) { writeRecord(a, o, values, i); });
}

void gatherRowsTarget(ThreadPool& pool, const GatherRowsArgs& a) {
  const RowLayout o = rowLayout(a.fmt);
  const int64_t values = int64_t{a.fmt.kvHeads} * a.fmt.headDim;
  forRecords(pool, a.n, o, [&](int64_t i) {
    const uint8_t* record = a.pool + a.slots[i] * o.stride;
    if (a.k) withDType(a.fmt.k, [&](auto t) { readRow<t()>(record + o.k, a.k + i * values, values); });
    if (a.v) withDType(a.fmt.v, [&](auto t) { readRow<t()>(record + o.v, a.v + i * values, values); });
  });
}

void verifyRowsTarget(ThreadPool& pool, const VerifyRowsArgs& a) {
  const RowLayout o = rowLayout(a.fmt);
  forRecords(pool, a.n, o, [&](int64_t i) {
    const uint8_t* record = a.pool + a.slots[i] * o.stride;
    uint64_t tag, checksum;
    memcpy(&tag, record + o.tag, 8);
    memcpy(&checksum, record + o.checksum, 8);
    const bool badSum = rowChecksum(record, o.tag) != checksum;
    const bool badTag = a.tags && a.tags[i] != tag;
    a.verdicts[i] = static_cast<uint8_t>((badSum ? kRowBadChecksum : 0) | (badTag ? kRowBadTag : 0));
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {
HWY_EXPORT(writeRowsTarget);
HWY_EXPORT(gatherRowsTarget);
HWY_EXPORT(verifyRowsTarget);

namespace {

float readBack(float x, DType t) {
  if (t == DType::f16) return halfToFloat(floatToHalf(x));
  return t == DType::bf16 ? bf16ToFloat(floatToBf16(x)) : x;
}

void countRow(const float* x, int64_t values, DType t, WriteRowsStats& stats) {
  for (int64_t i = 0; i < values; ++i) {
    if (!std::isfinite(x[i])) {
      ++stats.nonFinite;
    } else if (!std::isfinite(readBack(x[i], t))) {
      ++stats.clipped;
    }
  }
}

}  // namespace

void writeRows(const Context& context, const WriteRowsArgs& args) {
  WriteRowsArgs a = args;
  const int64_t values = int64_t{a.fmt.kvHeads} * a.fmt.headDim;
  if (a.kStride == 0) a.kStride = values;
  if (a.vStride == 0) a.vStride = values;
  HWY_DYNAMIC_DISPATCH(writeRowsTarget)(*context.pool, a);
  for (int64_t i = 0; a.stats && i < a.n; ++i) {
    countRow(a.k + i * a.kStride, values, a.fmt.k, *a.stats);
    countRow(a.v + i * a.vStride, values, a.fmt.v, *a.stats);
  }
}

void moveRows(const Context&, const MoveRowsArgs& a) {
  const int64_t stride = rowLayout(a.fmt).stride;
  for (int64_t i = 0; i < a.n; ++i) {
    const RowMove& m = a.moves[i];
    memmove(a.toPool + m.to * stride, a.fromPool + m.from * stride,
            static_cast<size_t>(m.count * stride));
  }
}

void zeroRows(const Context&, const ZeroRowsArgs& a) {
  const int64_t stride = rowLayout(a.fmt).stride;
  for (int64_t i = 0; i < a.n; ++i) {
    memset(a.pool + a.slots[i] * stride, 0, static_cast<size_t>(stride));
  }
}

void gatherRows(const Context& context, const GatherRowsArgs& args) {
  HWY_DYNAMIC_DISPATCH(gatherRowsTarget)(*context.pool, args);
}

void verifyRows(const Context& context, const VerifyRowsArgs& a) {
  HWY_DYNAMIC_DISPATCH(verifyRowsTarget)(*context.pool, a);
  if (a.bad) *a.bad = a.n - std::count(a.verdicts, a.verdicts + a.n, uint8_t{kRowGood});
}

void readTags(const Context&, const ReadTagsArgs& a) {
  const RowLayout o = rowLayout(a.fmt);
  for (int64_t i = 0; i < a.n; ++i) {
    const uint8_t* record = a.pool + a.slots[i] * o.stride;
    if (a.tags) memcpy(a.tags + i, record + o.tag, 8);
    if (a.checksums) memcpy(a.checksums + i, record + o.checksum, 8);
  }
}

void matchTags(const Context& context, const MatchTagsArgs& a) {
  constexpr int64_t kAhead = 24, kRows = 512;  // what takes time is waiting for the cache line
  const int64_t parts = (a.n + kRows - 1) / kRows;
  std::fill(a.wrong, a.wrong + a.nPools, 0);
  context.pool->parallelFor(0, a.nPools * parts, 4, [&](int64_t from, int64_t to, int) {
    for (int64_t part = from; part < to; ++part) {
      const PoolView& view = a.pools[part / parts];
      const RowLayout o = rowLayout(view.fmt);
      const int64_t begin = part % parts * kRows, end = std::min(a.n, begin + kRows);
      const auto tagOf = [&](int64_t i) { return view.pool + a.slots[i] * o.stride + o.tag; };
      int64_t wrong = 0;
      for (int64_t i = begin; i < end; ++i) {
        if (i + kAhead < end) hwy::Prefetch(tagOf(i + kAhead));
        wrong += memcmp(tagOf(i), a.tags + i, 8) != 0;
      }
      if (wrong > 0) std::atomic_ref(a.wrong[part / parts]).fetch_add(wrong);
    }
  });
}

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
