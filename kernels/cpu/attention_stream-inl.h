// SPDX-License-Identifier: Apache-2.0
// One query against a block, rows read where they lie: a key is converted and rotated in registers
// and meets every query head of its group there, a value is converted on its way to the sums. Rows are
// walked as memory has them, all KV heads of one before the next; eight rows at a time leave the
// lanes of their scores, which one tree then reduces. Bits are those of the walk over copied rows.
#if defined(KVLAB_ATTENTION_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_ATTENTION_STREAM_INL_H
#undef KVLAB_ATTENTION_STREAM_INL_H
#else
#define KVLAB_ATTENTION_STREAM_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/attention_plan-inl.h"
#include "kernels/cpu/dot_tile-inl.h"
#include "kernels/cpu/row_codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

constexpr int64_t kRowsAtOnce = 8;

/// Head dimensions whose rows fit the registers, in whole registers for each half.
HWY_INLINE bool streamable(int64_t headDim) {
  return (headDim == 32 || headDim == 48 || headDim == 64 || headDim == 128) && headDim / 2 % kLanes == 0;
}

/// Calls fn with the head dimension as a compile-time constant.
template <class Fn>
HWY_INLINE void withHeadDim(int64_t headDim, const Fn& fn) {
  switch (headDim) {
    case 32: return fn(std::integral_constant<int, 32>());
    case 48: return fn(std::integral_constant<int, 48>());
    case 64: return fn(std::integral_constant<int, 64>());
    case 128: return fn(std::integral_constant<int, 128>());
    default: return;
  }
}

/// A stored key -> N registers, rotated with `table` unless that is null.
template <DType T, int N>
HWY_INLINE void keyRegisters(const uint8_t* from, const uint8_t* scale, const float* table, VF (&k)[N]) {
  constexpr int kHalf = N / 2;
  constexpr int64_t kStep = kLanes * dtypeBytes(T);
  const DF d;
  const HeadReader<T, DF> head(d, scale);
  KVLAB_UNROLL for (int i = 0; i < N; ++i) k[i] = head.load(d, from + i * kStep);
  if (!table) return;
  KVLAB_UNROLL for (int i = 0; i < kHalf; ++i) {
    const VF lo = k[i], hi = k[i + kHalf];
    const VF cosine = hn::LoadU(d, table + i * kLanes), sine = hn::LoadU(d, table + (i + kHalf) * kLanes);
    k[i] = mulAdd(lo, cosine, hn::Neg(hn::Mul(hi, sine)));
    k[i + kHalf] = mulAdd(hi, cosine, hn::Mul(lo, sine));
  }
}

/// Lanes of the products of one key with `group` queries [group, dim]; lanes of a query lie kRowsAtOnce * 16 apart.
template <DType T, int N>
HWY_INLINE void keyLanes(const uint8_t* from, const uint8_t* scale, const float* table, const float* queries, int64_t group,
                         float* lanes) {
  const DF d;
  VF k[N];
  keyRegisters<T, N>(from, scale, table, k);
  for (int64_t g = 0; g < group; ++g, queries += N * kLanes, lanes += kRowsAtOnce * 16) {
    VF sums[kGroups];
    KVLAB_UNROLL for (int i = 0; i < static_cast<int>(kGroups); ++i) sums[i] = hn::Zero(d);
    KVLAB_UNROLL for (int i = 0; i < N; ++i) {
      sums[i % kGroups] = mulAdd(hn::LoadU(d, queries + i * kLanes), k[i], sums[i % kGroups]);
    }
    KVLAB_UNROLL for (int i = 0; i < static_cast<int>(kGroups); ++i) hn::StoreU(sums[i], d, lanes + i * kLanes);
  }
}

/// Record of each row of the block.
struct BlockRows {
  const uint8_t* record[kAttentionBlock];
  const float* table[kAttentionBlock];
};

HWY_INLINE BlockRows blockRows(const Call& c, const Part& p, int64_t start) {
  BlockRows rows;
  for (int64_t j = p.lo; j < p.rowsEnd; ++j) {
    rows.record[j] = c.a.pool + c.a.slots[start + j] * c.layout.stride;
    rows.table[j] = c.a.keysRotated ? nullptr : c.a.rotaryTable + int64_t{c.a.phaseIndex[start + j]} * c.a.fmt.headDim;
  }
  return rows;
}

/// Rows [lo, rowsEnd) of all heads of the item: scores [heads * group, 64]. `ahead` asks for rows to come.
template <DType T, int N, class Ahead>
HWY_INLINE void streamScores(const Call& c, const Item& item, const Buffers& b, const BlockRows& rows,
                             const Part& p, const Ahead& ahead) {
  constexpr int64_t kBytes = N * kLanes * dtypeBytes(T);
  const int64_t heads = item.head1 - item.head0;
  for (int64_t j0 = p.lo; j0 < p.rowsEnd; j0 += kRowsAtOnce) {
    const int64_t n = std::min(kRowsAtOnce, p.rowsEnd - j0);
    for (int64_t j = 0; j < n; ++j) {
      ahead(j0 + j);
      const uint8_t* key = rows.record[j0 + j] + c.layout.k + item.head0 * kBytes;
      const uint8_t* scale = rows.record[j0 + j] + c.layout.kScales + item.head0 * 4;
      for (int64_t h = 0; h < heads; ++h) {
        keyLanes<T, N>(key + h * kBytes, scale + h * 4, rows.table[j0 + j], b.queries + h * c.group * c.dim, c.group,
                       b.lanes + (h * c.group * kRowsAtOnce + j) * 16);
      }
    }
    for (int64_t r = 0; r < heads * c.group; ++r) reduceRow(b.lanes + r * kRowsAtOnce * 16, n, b.scores + r * 64 + j0);
  }
}

/// Where V of a head lies in a record.
struct RowPart {
  int64_t values, scale;
};

/// out [Q, dim]: Q query heads, V of the N registers of a value at a time.
template <DType T, int N, int Q, int V>
HWY_INLINE void streamValues(const BlockRows& rows, const RowPart& part, const Part& p, const float* scores,
                             const float* self, float* out) {
  constexpr int64_t kStep = kLanes * dtypeBytes(T);
  const DF d;
  for (int v0 = 0; v0 < N; v0 += V) {
    VF c[Q][V];
    KVLAB_UNROLL for (int q = 0; q < Q; ++q) {
      KVLAB_UNROLL for (int v = 0; v < V; ++v) c[q][v] = hn::Zero(d);
    }
    for (int64_t j = p.lo; j < p.rowsEnd; ++j) {
      const uint8_t* from = rows.record[j] + part.values + v0 * kStep;
      const HeadReader<T, DF> head(d, rows.record[j] + part.scale);
      VF weight[Q];
      KVLAB_UNROLL for (int q = 0; q < Q; ++q) weight[q] = hn::Set(d, scores[q * 64 + j]);
      KVLAB_UNROLL for (int v = 0; v < V; ++v) {
        const VF value = head.load(d, from + v * kStep);
        KVLAB_UNROLL for (int q = 0; q < Q; ++q) c[q][v] = mulAdd(weight[q], value, c[q][v]);
      }
    }
    KVLAB_UNROLL for (int q = 0; q < Q; ++q) {
      KVLAB_UNROLL for (int v = 0; v < V; ++v) {
        const int64_t at = (v0 + v) * kLanes;
        if (self) c[q][v] = mulAdd(hn::Set(d, scores[q * 64 + p.rowsEnd]), hn::LoadU(d, self + at), c[q][v]);
        hn::StoreU(c[q][v], d, out + q * N * kLanes + at);
      }
    }
  }
}

/// Registers of a value that Q query heads take at a time: a divisor of N, at most 8 sums or 12 for three heads.
template <int N, int Q>
constexpr int valuesAtOnce() {
  int best = 1;
  for (int v = 1; v <= N; ++v) {
    if (N % v == 0 && v * Q <= (kLanes >= 16 ? 24 : Q == 3 || Q == 2 ? 12 : 8)) best = v;
  }
  return best;
}

template <DType T, int N>
HWY_INLINE void streamGroup(const Call& c, const BlockRows& rows, const RowPart& part, const Part& p,
                            const float* scores, const float* self, float* out) {
  int64_t g = 0;
  const auto next = [&](auto heads) {
    constexpr int kHeads = heads();
    streamValues<T, N, kHeads, valuesAtOnce<N, kHeads>()>(rows, part, p, scores + g * 64, self, out + g * c.dim);
    g += kHeads;
  };
  while (c.group - g >= 4) next(std::integral_constant<int, 4>());
  if (c.group - g == 3) next(std::integral_constant<int, 3>());
  if (c.group - g == 2) next(std::integral_constant<int, 2>());
  if (c.group - g == 1) next(std::integral_constant<int, 1>());
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_ATTENTION_STREAM_INL_H
