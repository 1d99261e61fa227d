// SPDX-License-Identifier: Apache-2.0
// One query against a block whose rows are read where they lie. A key is converted and rotated in registers and
// meets every query head of its group there; a value is converted on its way to the sums. The walk takes rows as
// memory has them, all KV heads of a row before the next row. First come the keys of the block, eight rows at a
// time, and one tree reduces their lanes. Then come the values, a few rows at a time, so that they arrive from
// memory just in time. The walk over copied rows gives the same bits.
#if defined(KVLAB_ATTENTION_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_ATTENTION_STREAM_INL_H
#undef KVLAB_ATTENTION_STREAM_INL_H
#else
#define KVLAB_ATTENTION_STREAM_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/attention/attention_plan-inl.h"
#include "kernels/cpu/linear/dot_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

constexpr int64_t kBytesAhead =
    64 << 10;  // K or V prefetched ahead of use; fits the second cache together with rows at work

/// N registers of a head from the one at `from` on, handed to fn(i, register) in ascending order.
template <DType T, int N, class Fn>
HWY_INLINE void eachRegister(const HeadReader<T, DF>& head, const uint8_t* from, const Fn& fn) {
  constexpr int64_t kStep = kLanes * dtypeBytes(T);
  KVLAB_UNROLL for (int i = 0; i + 1 < N; i += 2) {
    VF low, high;
    loadPair<T>(head, from + i * kStep, low, high);
    fn(i, low);
    fn(i + 1, high);
  }
  if constexpr (N % 2 == 1) fn(N - 1, head.load(DF(), from + (N - 1) * kStep));
}

/// A stored key, rotated with `table` unless that is null. Its lower half is handed to low(i, register) in
/// ascending order, the upper half stays in `high`.
template <DType T, int N, class Low>
HWY_INLINE void keyHalves(const uint8_t* from, const uint8_t* scale, const float* table, VF (&high)[N / 2],
                          const Low& low) {
  constexpr int kHalf = N / 2;
  const DF d;
  const HeadReader<T, DF> head(d, scale);
  eachRegister<T, kHalf>(head, from + kHalf * kLanes * dtypeBytes(T), [&](int i, VF hi) { high[i] = hi; });
  eachRegister<T, kHalf>(head, from, [&](int i, VF lo) {
    if (!table) return low(i, lo);
    const VF hi = high[i], cosine = hn::LoadU(d, table + i * kLanes), sine = hn::LoadU(d, table + (i + kHalf) * kLanes);
    high[i] = mulAdd(hi, cosine, hn::Mul(lo, sine));
    low(i, mulSub(lo, cosine, hn::Mul(hi, sine)));
  });
}

#if HWY_TARGET != HWY_SCALAR
/// A stored key of 48 values in three registers of 16, rotated with `table` unless that is null. Halves are 24 values:
/// the partner of a register in the rotation is loaded from beside it, and the middle register belongs to both.
template <DType T>
HWY_INLINE void keyOf48(const uint8_t* from, const uint8_t* scale, const float* table, VF (&key)[3]) {
  constexpr int64_t kBytes = dtypeBytes(T);
  const DF d;
  const hn::Half<DF> half;
  const HeadReader<T, DF> head(d, scale);
  const HeadReader<T, hn::Half<DF>> part(half, scale);
  KVLAB_UNROLL for (int i = 0; i < 3; ++i) key[i] = head.load(d, from + i * 16 * kBytes);
  if (!table) return;
  const float* sines = table + 24;
  const VF first = head.load(d, from + 24 * kBytes), last = head.load(d, from + 8 * kBytes);
  const VF middle = hn::Combine(d, part.load(half, from), part.load(half, from + 40 * kBytes));
  const auto both = [&](const float* at) { return hn::Combine(d, hn::LoadU(half, at), hn::LoadU(half, at + 16)); };
  const VF turned = hn::Mul(middle, both(sines));
  const VF lower = hn::IfThenElse(hn::FirstN(d, 8), hn::Neg(turned), turned);
  key[0] = mulSub(key[0], hn::LoadU(d, table), hn::Mul(first, hn::LoadU(d, sines)));
  key[1] = mulAdd(key[1], both(table), lower);
  key[2] = mulAdd(key[2], hn::LoadU(d, table + 8), hn::Mul(last, hn::LoadU(d, sines + 8)));
}
#endif

/// Sums of the lanes of one row, kKeptLanes floats. If several registers hold the lanes, lanes j and j + 8 are added
/// first, which is the first step of the tree; a single register is stored as it is.
HWY_INLINE void storeLanes(const VF (&sums)[kGroups], float* to) {
  const DF d;
  constexpr int kHalf = static_cast<int>(kGroups) / 2;
  if constexpr (kHalf == 0) hn::StoreU(sums[0], d, to);
  KVLAB_UNROLL for (int i = 0; i < kHalf; ++i) hn::StoreU(hn::Add(sums[i], sums[i + kHalf]), d, to + i * kLanes);
}

/// Reduces n rows by the rest of the tree.
HWY_INLINE void reduceKept(const float* lanes, int64_t n, float* out) {
  if constexpr (kKeptLanes == 16) reduceRow(lanes, n, out);
  else reduceFolded(lanes, n, out);
}

HWY_INLINE void clearSums(VF (&sums)[kGroups]) {
  KVLAB_UNROLL for (int i = 0; i < static_cast<int>(kGroups); ++i) sums[i] = hn::Zero(DF());
}

/// sums += queries * key, of registers [first, first + N) of both.
template <int N>
HWY_INLINE void addProducts(const float* queries, const VF (&key)[N], int first, VF (&sums)[kGroups]) {
  constexpr int kCount = static_cast<int>(kGroups);
  KVLAB_UNROLL for (int i = 0; i < N; ++i) {
    VF& sum = sums[(first + i) % kCount];
    sum = mulAdd(hn::LoadU(DF(), queries + (first + i) * kLanes), key[i], sum);
  }
}

/// Lanes of the products of one key with `group` queries [group, dim]; the lanes of two queries lie kRowsAtOnce *
/// kKeptLanes apart.
template <DType T, int N>
HWY_INLINE void keyLanes(const uint8_t* from, const uint8_t* scale, const float* table, const float* queries,
                         int64_t group, float* lanes) {
  constexpr int kHalf = N / 2, kCount = static_cast<int>(kGroups);
  VF sums[kGroups];
  if constexpr (N == 3) {
    VF key[N];
    keyOf48<T>(from, scale, table, key);
    for (int64_t g = 0; g < group; ++g, queries += N * kLanes, lanes += kRowsAtOnce * kKeptLanes) {
      clearSums(sums);
      addProducts(queries, key, 0, sums);
      storeLanes(sums, lanes);
    }
    return;
  }
  VF low[kHalf], high[kHalf];
  if (group == 1) {  // the lower half is used up as it comes
    clearSums(sums);
    keyHalves<T, N>(from, scale, table, high, [&](int i, VF x) {
      sums[i % kCount] = mulAdd(hn::LoadU(DF(), queries + i * kLanes), x, sums[i % kCount]);
    });
    addProducts(queries, high, kHalf, sums);
    return storeLanes(sums, lanes);
  }
  keyHalves<T, N>(from, scale, table, high, [&](int i, VF x) { low[i] = x; });
  for (int64_t g = 0; g < group; ++g, queries += N * kLanes, lanes += kRowsAtOnce * kKeptLanes) {
    clearSums(sums);
    addProducts(queries, low, 0, sums);
    addProducts(queries, high, kHalf, sums);
    storeLanes(sums, lanes);
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

/// The number of rows of `bytes` bytes that make up kBytesAhead.
HWY_INLINE int64_t rowsAhead(int64_t bytes) {
  return std::clamp<int64_t>(kBytesAhead / bytes, kRowsAtOnce, kRowsAhead);
}

/// The number of rows of V, of all heads of the item, that are at work at a time.
HWY_INLINE int64_t valueRowsAtOnce(const Call& c, const Item& item) {
  return rowsAhead((item.head1 - item.head0) * c.a.fmt.headDim * dtypeBytes(c.a.fmt.v));
}

/// True if that is a whole block: then V is prefetched together with K, because a record is one piece.
HWY_INLINE bool valuesComeWithKeys(const Call& c, const Item& item) {
  return valueRowsAtOnce(c, item) == kAttentionBlock;
}

/// Rows [lo, rowsEnd) of all heads of the item: scores [heads * group, 64].
template <DType T, int N>
HWY_NOINLINE void streamScores(const Call& c, const Item& item, const Buffers& b, const BlockRows& rows, const Part& p,
                               int64_t start) {
  constexpr int64_t kBytes = N * kLanes * dtypeBytes(T);
  const int64_t heads = item.head1 - item.head0, ahead = start + rowsAhead(heads * kBytes);
  const bool values = valuesComeWithKeys(c, item);
  for (int64_t j0 = p.lo; j0 < p.rowsEnd; j0 += kRowsAtOnce) {
    const int64_t n = std::min(kRowsAtOnce, p.rowsEnd - j0);
    for (int64_t j = 0; j < n; ++j) {
      prefetchKeys(c, item, ahead + j0 + j);
      if (values) prefetchValues(c, start + kRowsAhead + j0 + j, item.head0, item.head1);
      const uint8_t* key = rows.record[j0 + j] + c.layout.k + item.head0 * kBytes;
      const uint8_t* scale = rows.record[j0 + j] + c.layout.kScales + item.head0 * 4;
      for (int64_t h = 0; h < heads; ++h) {
        keyLanes<T, N>(key + h * kBytes, scale + h * 4, rows.table[j0 + j], b.queries + h * c.group * c.dim, c.group,
                       b.lanes + (h * c.group * kRowsAtOnce + j) * kKeptLanes);
      }
    }
    for (int64_t r = 0; r < heads * c.group; ++r)
      reduceKept(b.lanes + r * kRowsAtOnce * kKeptLanes, n, b.scores + r * 64 + j0);
  }
}

/// Some rows of V of one head, and their weights.
struct ValueRows {
  const BlockRows& rows;
  int64_t values, scale;  ///< offsets of the head's V and scale in a record
  int64_t from, to;       ///< offsets in the block
  bool first;             ///< true: the first rows of the block, sums start from 0
};

/// out [Q, dim] += weights [Q, 64] * V: Q query heads, V of the N registers of a value at a time.
template <DType T, int N, int Q, int V>
HWY_INLINE void streamValues(const ValueRows& r, const float* weights, float* out) {
  constexpr int64_t kStep = kLanes * dtypeBytes(T);
  const DF d;
  for (int v0 = 0; v0 < N; v0 += V) {
    VF c[Q][V];
    KVLAB_UNROLL for (int q = 0; q < Q; ++q) {
      KVLAB_UNROLL for (int v = 0; v < V; ++v) c[q][v] =
          r.first ? hn::Zero(d) : hn::LoadU(d, out + (q * N + v0 + v) * kLanes);
    }
    for (int64_t j = r.from; j < r.to; ++j) {
      const uint8_t* from = r.rows.record[j] + r.values + v0 * kStep;
      const HeadReader<T, DF> head(d, r.rows.record[j] + r.scale);
      VF weight[Q];
      KVLAB_UNROLL for (int q = 0; q < Q; ++q) weight[q] = hn::Set(d, weights[q * 64 + j]);
      eachRegister<T, V>(head, from, [&](int v, VF value) {
        KVLAB_UNROLL for (int q = 0; q < Q; ++q) c[q][v] = mulAdd(weight[q], value, c[q][v]);
      });
    }
    KVLAB_UNROLL for (int q = 0; q < Q; ++q) {
      KVLAB_UNROLL for (int v = 0; v < V; ++v) hn::StoreU(c[q][v], d, out + (q * N + v0 + v) * kLanes);
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
HWY_INLINE void streamGroup(const ValueRows& r, int64_t group, const float* weights, float* out) {
  int64_t g = 0;
  const auto next = [&](auto heads) {
    constexpr int kHeads = heads();
    streamValues<T, N, kHeads, valuesAtOnce<N, kHeads>()>(r, weights + g * 64, out + g * N * kLanes);
    g += kHeads;
  };
  while (group - g >= 4) next(std::integral_constant<int, 4>());
  if (group - g == 3) next(std::integral_constant<int, 3>());
  if (group - g == 2) next(std::integral_constant<int, 2>());
  if (group - g == 1) next(std::integral_constant<int, 1>());
}

/// b.block [heads * group, dim] = weighted values of rows [lo, rowsEnd) of all heads of the item.
template <DType T, int N>
HWY_NOINLINE void streamAllValues(const Call& c, const Item& item, const Buffers& b, const BlockRows& rows,
                                  const Part& p, int64_t start) {
  constexpr int64_t kBytes = N * kLanes * dtypeBytes(T);
  const int64_t step = valueRowsAtOnce(c, item);
  const bool ahead = !valuesComeWithKeys(c, item);
  for (int64_t j = p.lo; j < p.rowsEnd; j += step) {
    const int64_t end = std::min(p.rowsEnd, j + step);
    for (int64_t head = item.head0; head < item.head1; ++head) {
      for (int64_t row = j; ahead && row < end; ++row) prefetchValues(c, start + row + step, head, head + 1);
      const int64_t first = (head - item.head0) * c.group;
      streamGroup<T, N>({rows, c.layout.v + head * kBytes, c.layout.vScales + 4 * head, j, end, j == p.lo}, c.group,
                        b.scores + first * 64, b.block + first * c.dim);
    }
  }
}

/// The self row comes last, after all others.
HWY_INLINE void addSelfValue(const Call& c, const Item& item, const Buffers& b, int64_t head, const Part& p) {
  loadSelf(c, head, item.q0, b);
  const DF d;
  const int64_t first = (head - item.head0) * c.group;
  for (int64_t g = first; g < first + c.group; ++g) {
    float* out = b.block + g * c.dim;
    const VF weight = hn::Set(d, b.scores[g * 64 + p.rowsEnd]);
    for (int64_t i = 0; i < c.dim; i += kLanes) {
      const VF before = p.lo < p.rowsEnd ? hn::LoadU(d, out + i) : hn::Zero(d);
      hn::StoreU(mulAdd(weight, hn::LoadU(d, b.selfValue + i), before), d, out + i);
    }
  }
}

template <int N>
HWY_INLINE void streamBlock(const Call& c, const Item& item, const Buffers& b, int64_t start, int64_t blockOfTile) {
  const Part p = partOf(rangeOf(c.a, item.q0), start);
  if (p.empty()) return;
  const BlockRows rows = blockRows(c, p, start);
  withRowType(c.a.fmt.k, [&](auto t) { streamScores<t(), N>(c, item, b, rows, p, start); });
  Softmax blocks[kMaxHeads];
  for (int64_t head = item.head0; head < item.head1; ++head) {
    const int64_t first = (head - item.head0) * c.group;
    if (p.hasSelf()) scoreSelf(c, head, b.ofHead(c, head - item.head0), item.q0, 0, p);
    for (int64_t g = 0; g < c.group; ++g) {
      blocks[first + g] = softenRow(c, p, b.scores + (first + g) * 64, item.q0, head * c.group + g, start);
    }
  }
  withRowType(c.a.fmt.v, [&](auto t) { streamAllValues<t(), N>(c, item, b, rows, p, start); });
  for (int64_t head = item.head0; head < item.head1; ++head) {
    const Buffers mine = b.ofHead(c, head - item.head0);
    const int64_t partial = item.partials ? head * item.partials->blocks + blockOfTile : 0,
                  first = (head - item.head0) * c.group;
    if (p.hasSelf()) addSelfValue(c, item, b, head, p);
    for (int64_t g = 0; g < c.group; ++g)
      storeOrMerge(c, item, mine, partial, g, blocks[first + g], b.block + (first + g) * c.dim);
  }
}

template <int kDim>
void streamBlockOf([[maybe_unused]] const Call& c, [[maybe_unused]] const Item& item, [[maybe_unused]] const Buffers& b,
                   [[maybe_unused]] int64_t start, [[maybe_unused]] int64_t blockOfTile) {
  if constexpr (kDim / 2 % kLanes == 0 || kDim == 3 * kLanes)
    streamBlock<kDim / kLanes>(c, item, b, start, blockOfTile);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_ATTENTION_STREAM_INL_H
