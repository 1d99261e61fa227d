// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/row_ops.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <vector>

#include <hwy/cache_control.h>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/row_tag.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/row_ops.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/rows/row_codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kBytesPerTask = 65536;

HWY_INLINE int64_t recordsPerTask(const RowLayout& o) { return std::max<int64_t>(1, kBytesPerTask / o.stride); }

template <class Fn>
void forRecords(ThreadPool& pool, int64_t n, const RowLayout& o, const Fn& fn) {
  pool.parallelFor(0, n, recordsPerTask(o), [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) fn(i);
  });
}

HWY_INLINE void countScale(float scale, TensorStats& stats) {
  if (scale != scale) return;
  const ScaleWords words = scaleWords(scale);
  ++stats.scales;
  stats.floored += scale == kScaleFloor;
  stats.scaleMin = std::min(stats.scaleMin, scale);
  stats.scaleMax = std::max(stats.scaleMax, scale);
  stats.scaleSum[words.first] += words.low;
  stats.scaleSum[words.first + 1] += words.high;
}

/// One head of a type with a scale.
template <DType T>
HWY_INLINE void writeHead(const float* from, uint8_t* to, uint8_t* scaleAt, int64_t headDim, TensorStats& stats) {
  const HeadScan scan = scanHead(from, headDim, 0x7f800000u);
  const float scale = scaleOf(scan.amaxBits, T);
  memcpy(scaleAt, &scale, 4);
  stats.nonFinite += scan.nonFinite;
  countScale(scale, stats);
  if (scan.nonFinite > 0) memset(to, 0, static_cast<size_t>(headDim));
  else writeCodes<T>(from, scale, to, headDim, stats.atMax, stats.clipped);
}

/// K or V of a row. Statistics of types without a scale are counted only where somebody asked for them.
HWY_INLINE void writeTensor(const RowFormat& f, DType type, const float* from, uint8_t* to, uint8_t* scales, bool count,
                            TensorStats& stats) {
  withRowType(type, [&](auto t) {
    for (int64_t head = 0; head < f.kvHeads; ++head) {
      const float* x = from + head * f.headDim;
      uint8_t* at = to + head * f.headDim * dtypeBytes(t());
      if constexpr (dtypeHasScale(t())) {
        writeHead<t()>(x, at, scales + 4 * head, f.headDim, stats);
      } else {
        writeRow<t()>(x, at, f.headDim);
        if (!count) continue;
        const HeadScan scan = scanHead(x, f.headDim, overflowBits(t()));
        stats.nonFinite += scan.nonFinite;
        stats.clipped += scan.overflows;
      }
    }
  });
}

HWY_INLINE void writeRecord(const WriteRowsArgs& a, const RowLayout& o, int64_t i, WriteRowsStats& stats) {
  uint8_t* record = a.pool + a.slots[i] * o.stride;
  const int64_t values = int64_t{a.fmt.kvHeads} * a.fmt.headDim, scales = int64_t{a.fmt.kvHeads} * 4;
  const auto clear = [&](int64_t from, int64_t to) { memset(record + from, 0, static_cast<size_t>(to - from)); };
  writeTensor(a.fmt, a.fmt.k, a.k + i * a.kStride, record + o.k, record + o.kScales, a.stats, stats.k);
  clear(o.k + values * dtypeBytes(a.fmt.k), o.v);
  writeTensor(a.fmt, a.fmt.v, a.v + i * a.vStride, record + o.v, record + o.vScales, a.stats, stats.v);
  clear(o.v + values * dtypeBytes(a.fmt.v), o.kScales);
  clear(o.kScales + (dtypeHasScale(a.fmt.k) ? scales : 0), o.vScales);
  clear(o.vScales + (dtypeHasScale(a.fmt.v) ? scales : 0), o.tag);
  writeTag(record, o, a.fmt, a.tags[i]);
  const uint64_t sum = rowChecksum(record, o.tag);
  memcpy(record + o.checksum, &sum, 8);
}

/// K or V of a row -> f32 [kvHeads, headDim].
HWY_INLINE void readTensor(const RowFormat& f, DType type, const uint8_t* from, const uint8_t* scales, float* to) {
  withRowType(type, [&](auto t) {
    if constexpr (!dtypeHasScale(t())) return readRow<t()>(from, to, int64_t{f.kvHeads} * f.headDim);
    for (int64_t head = 0; head < f.kvHeads; ++head) {
      readHead<t()>(from + head * f.headDim * dtypeBytes(t()), scales + 4 * head, to + head * f.headDim, f.headDim);
    }
  });
}

}  // namespace

void writeRowsTarget(ThreadPool& pool, WriteRowsArgs a) {
  const int64_t values = int64_t{a.fmt.kvHeads} * a.fmt.headDim;
  if (a.kStride == 0) a.kStride = values;
  if (a.vStride == 0) a.vStride = values;
  const RowLayout o = rowLayout(a.fmt);
  std::mutex merging;
  pool.parallelFor(0, a.n, recordsPerTask(o), [&](int64_t from, int64_t to, int) {
    WriteRowsStats seen;
    for (int64_t i = from; i < to; ++i) writeRecord(a, o, i, seen);
    if (!a.stats) return;
    const std::lock_guard lock(merging);
    a.stats->add(seen);
  });
}

void gatherRowsTarget(ThreadPool& pool, const GatherRowsArgs& a) {
  const RowLayout o = rowLayout(a.fmt);
  const int64_t values = int64_t{a.fmt.kvHeads} * a.fmt.headDim;
  forRecords(pool, a.n, o, [&](int64_t i) {
    const uint8_t* record = a.pool + a.slots[i] * o.stride;
    if (a.k) readTensor(a.fmt, a.fmt.k, record + o.k, record + o.kScales, a.k + i * values);
    if (a.v) readTensor(a.fmt, a.fmt.v, record + o.v, record + o.vScales, a.v + i * values);
  });
}

void rowNormsTarget(ThreadPool& pool, const RowNormsArgs& a) {
  const RowLayout o = rowLayout(a.fmt);
  const int64_t values = int64_t{a.fmt.kvHeads} * a.fmt.headDim;
  pool.parallelFor(0, a.n, recordsPerTask(o), [&](int64_t from, int64_t to, int) {
    std::vector<float> row(static_cast<size_t>(values));
    const auto norm = [&](DType type, const uint8_t* at, const uint8_t* scales) {
      readTensor(a.fmt, type, at, scales, row.data());
      return std::sqrt(sumOfSquares(row.data(), values));
    };
    for (int64_t i = from; i < to; ++i) {
      const uint8_t* record = a.pool + a.slots[i] * o.stride;
      if (a.k) a.k[i] = norm(a.fmt.k, record + o.k, record + o.kScales);
      if (a.v) a.v[i] = norm(a.fmt.v, record + o.v, record + o.vScales);
    }
  });
}

void verifyRowsTarget(ThreadPool& pool, const VerifyRowsArgs& a) {
  const RowLayout o = rowLayout(a.fmt);
  constexpr int64_t kAhead = 2, kLine = 64, kMostAhead = 1024;  // rows that are scattered come late
  forRecords(pool, a.n, o, [&](int64_t i) {
    const uint8_t* record = a.pool + a.slots[i] * o.stride;
    const uint8_t* next = a.pool + a.slots[std::min(i + kAhead, a.n - 1)] * o.stride;
    for (int64_t at = 0; at < std::min(o.stride, kMostAhead); at += kLine) hwy::Prefetch(next + at);
    uint64_t checksum;
    memcpy(&checksum, record + o.checksum, 8);
    const bool badSum = rowChecksum(record, o.tag) != checksum;
    const bool badTag = a.tags && a.tags[i] != readTag(record, o, a.fmt);
    a.verdicts[i] = static_cast<uint8_t>((badSum ? kRowBadChecksum : 0) | (badTag ? kRowBadTag : 0));
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {
HWY_EXPORT(verifyRowsTarget);

KVLAB_CPU_OP(writeRows, WriteRowsArgs)

void moveRows(const Context&, const MoveRowsArgs& a) {
  const int64_t stride = rowLayout(a.fmt).stride;
  for (int64_t i = 0; i < a.n; ++i) {
    const RowMove& m = a.moves[i];
    memmove(a.toPool + m.to * stride, a.fromPool + m.from * stride, static_cast<size_t>(m.count * stride));
  }
}

void zeroRows(const Context&, const ZeroRowsArgs& a) {
  const int64_t stride = rowLayout(a.fmt).stride;
  for (int64_t i = 0; i < a.n; ++i) {
    memset(a.pool + a.slots[i] * stride, 0, static_cast<size_t>(stride));
  }
}

KVLAB_CPU_OP(gatherRows, GatherRowsArgs)
KVLAB_CPU_OP(rowNorms, RowNormsArgs)

void verifyRows(const Context& context, const VerifyRowsArgs& a) {
  HWY_DYNAMIC_DISPATCH(verifyRowsTarget)(*context.pool, a);
  if (a.bad) *a.bad = a.n - std::count(a.verdicts, a.verdicts + a.n, uint8_t{kRowGood});
}

void readTags(const Context&, const ReadTagsArgs& a) {
  const RowLayout o = rowLayout(a.fmt);
  for (int64_t i = 0; i < a.n; ++i) {
    const uint8_t* record = a.pool + a.slots[i] * o.stride;
    if (a.tags) a.tags[i] = readTag(record, o, a.fmt);
    if (a.checksums) memcpy(a.checksums + i, record + o.checksum, 8);
  }
}

void readScales(const Context& context, const ReadScalesArgs& a) {
  const RowLayout o = rowLayout(a.fmt);
  const int64_t heads = a.fmt.kvHeads, values = heads * a.fmt.headDim;
  const auto tensor = [&](DType t, const uint8_t* from, const uint8_t* scalesAt, float* scales, int32_t* atMax) {
    if (scales && dtypeHasScale(t)) memcpy(scales, scalesAt, static_cast<size_t>(heads) * 4);
    else if (scales) std::fill(scales, scales + heads, 1.0f);
    if (atMax)
      *atMax = dtypeHasScale(t)
          ? static_cast<int32_t>(std::count_if(from, from + values, [t](uint8_t c) { return quantAtMax(c, t); }))
          : 0;
  };
  context.pool->parallelFor(0, a.n, 64, [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) {
      const uint8_t* record = a.pool + a.slots[i] * o.stride;
      tensor(a.fmt.k, record + o.k, record + o.kScales, a.k ? a.k + i * heads : nullptr,
             a.kAtMax ? a.kAtMax + i : nullptr);
      tensor(a.fmt.v, record + o.v, record + o.vScales, a.v ? a.v + i * heads : nullptr,
             a.vAtMax ? a.vAtMax + i : nullptr);
    }
  });
}

void matchTags(const Context& context, const MatchTagsArgs& a) {
  constexpr int64_t kAhead = 24, kRows = 512;  // most of the time is the wait for the cache line
  const int64_t parts = (a.n + kRows - 1) / kRows;
  std::fill(a.wrong, a.wrong + a.nPools, 0);
  context.pool->parallelFor(0, a.nPools * parts, 8, [&](int64_t from, int64_t to, int) {
    for (int64_t part = from; part < to; ++part) {
      const PoolView& view = a.pools[part / parts];
      const RowLayout o = rowLayout(view.fmt);
      const int64_t begin = part % parts * kRows, end = std::min(a.n, begin + kRows);
      const bool scaled = dtypeHasScale(view.fmt.k) || dtypeHasScale(view.fmt.v);
      const auto recordOf = [&](int64_t i) { return view.pool + a.slots[i] * o.stride; };
      int64_t wrong = 0;
      for (int64_t i = begin; i < end; ++i) {
        const uint8_t* next = recordOf(std::min(i + kAhead, end - 1));
        hwy::Prefetch(next + o.tag);
        if (scaled) hwy::Prefetch(next + o.kScales);
        wrong += readTag(recordOf(i), o, view.fmt) != a.tags[i];
      }
      if (wrong > 0) std::atomic_ref(a.wrong[part / parts]).fetch_add(wrong);
    }
  });
}

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
