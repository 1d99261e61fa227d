// SPDX-License-Identifier: Apache-2.0
// Arithmetic of attention inside one block of 64 keys, and the merge of blocks (ops/attention.h).
// Buffers are f32 rows of `dim` values, headDim padded with zeros to a multiple of 16.
#if defined(KVLAB_ATTENTION_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_ATTENTION_BLOCK_INL_H
#undef KVLAB_ATTENTION_BLOCK_INL_H
#else
#define KVLAB_ATTENTION_BLOCK_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/runtime/exp-inl.h"
#include "kernels/ops/attention.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// Running softmax of one query head; accumulated values lie beside it, dim floats.
struct Softmax {
  float max = kMinusInfinity;
  float sum = 0.0f;  ///< 0 until the first block: a block that is seen sums to at least 1
};

/// s [64]: dot products in, scaled and capped scores out; minus infinity outside [lo, hi). Returns the maximum.
HWY_INLINE float maskScores(float* s, int64_t lo, int64_t hi, float scale, float cap) {
  const DF d;
  for (int64_t j = 0; j < kAttentionBlock; j += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, s + j), hn::Set(d, scale)), d, s + j);
  }
  for (int64_t j = 0; cap != 0.0f && j < kAttentionBlock; j += kLanes) {
    const VF share = hn::Div(hn::LoadU(d, s + j), hn::Set(d, cap));
    hn::StoreU(hn::Mul(tanhF32(d, share), hn::Set(d, cap)), d, s + j);
  }
  std::fill(s, s + lo, kMinusInfinity);
  std::fill(s + hi, s + kAttentionBlock, kMinusInfinity);
  VF best = hn::LoadU(d, s);
  for (int64_t j = kLanes; j < kAttentionBlock; j += kLanes) best = hn::Max(best, hn::LoadU(d, s + j));
  return hn::GetLane(hn::MaxOfLanes(d, best));
}

/// s [64]: scores in, exp(s - max) out. Returns their sum: 16 lanes, four values each, then the tree.
HWY_INLINE float expScores(float* s, float max) {
  const DF d;
  VF sums[kGroups];
  KVLAB_UNROLL for (int64_t g = 0; g < kGroups; ++g) {
    sums[g] = hn::Zero(d);
    for (int64_t j = g * kLanes; j < kAttentionBlock; j += kVirtualLanes) {
      const VF p = expF32(d, hn::Sub(hn::LoadU(d, s + j), hn::Set(d, max)));
      hn::StoreU(p, d, s + j);
      sums[g] = hn::Add(sums[g], p);
    }
  }
  return reduceGroups(sums);
}

/// Weights of rows of one block: row q has its own 64, and one more for the self row if there is one.
struct Weights {
  const float* p;     // [Q, 64], from the first row on
  int64_t n;          // rows of values
  const float* self;  // [dim] value of the self row or null, its weight at p[n]
};

/// out [Q, V registers of dim] = sum over ascending j in [0, n) of p[j] * v[j], then self.
template <int Q, int V>
HWY_INLINE void weighValues(const Weights& w, const float* v, int64_t dim, int64_t at, float* out) {
  const DF d;
  VF c[Q][V];
  KVLAB_UNROLL for (int q = 0; q < Q; ++q) { KVLAB_UNROLL for (int r = 0; r < V; ++r) c[q][r] = hn::Zero(d); }
  const auto step = [&](int64_t j, const float* value) {
    VF p[Q];
    KVLAB_UNROLL for (int q = 0; q < Q; ++q) p[q] = hn::Set(d, w.p[q * kAttentionBlock + j]);
    KVLAB_UNROLL for (int r = 0; r < V; ++r) {
      VF x = hn::LoadU(d, value + r * kLanes);
      KVLAB_KEEP(x);
      KVLAB_UNROLL for (int q = 0; q < Q; ++q) c[q][r] = mulAdd(p[q], x, c[q][r]);
    }
  };
  for (int64_t j = 0; j < w.n; ++j) step(j, v + j * dim + at);
  if (w.self) step(w.n, w.self + at);
  KVLAB_UNROLL for (int q = 0; q < Q; ++q) {
    KVLAB_UNROLL for (int r = 0; r < V; ++r) hn::StoreU(c[q][r], d, out + q * dim + at + r * kLanes);
  }
}

/// out [Q, dim] likewise. Each output value has its own chain, so the split over registers is free.
template <int Q>
HWY_INLINE void weighRows(const Weights& w, const float* v, int64_t dim, float* out) {
  int64_t at = 0;
  const auto next = [&](auto registers) {
    weighValues<Q, registers()>(w, v, dim, at, out);
    at += registers() * kLanes;
  };
  for (int64_t left = dim / kLanes; left > 0; left = (dim - at) / kLanes) {
    if (Q == 1 && left >= 8) next(std::integral_constant<int, 8>());
    else if (Q == 1 && left == 6) next(std::integral_constant<int, 6>());
    else if (left % 4 == 0) next(std::integral_constant<int, 4>());
    else if (left >= 3) next(std::integral_constant<int, 3>());
    else if (left == 2) next(std::integral_constant<int, 2>());
    else next(std::integral_constant<int, 1>());
  }
}

/// e^(x - max) and e^(y - max) for the larger of both as max. One of them is 1, for expF32(0) is.
struct Rescale {
  float max, x, y;
};

HWY_INLINE Rescale rescale(float x, float y) {
  const float max = std::max(x, y), below = -std::abs(x - y);
  if (!(below <= 0.0f)) return {max, expOne(x - max), expOne(y - max)};  // infinite or not a number
  const float e = expOne(below);
  return {max, x < y ? e : 1.0f, y < x ? e : 1.0f};
}

/// Merges a block into the blocks left of it: (max, sum, values) of both are rescaled to the larger max.
HWY_INLINE void mergeBlock(Softmax& left, float* leftValues, const Softmax& block, const float* blockValues,
                           int64_t dim) {
  const DF d;
  if (left.sum == 0.0f) {
    left = block;
    std::copy(blockValues, blockValues + dim, leftValues);
    return;
  }
  const Rescale r = rescale(left.max, block.max);
  const VF a = hn::Set(d, r.x), b = hn::Set(d, r.y);
  const VF sum = mulAdd(hn::Set(d, left.sum), a, hn::Mul(hn::Set(d, block.sum), b));
  left = {r.max, hn::GetLane(sum)};
  for (int64_t i = 0; i < dim; i += kLanes) {
    const VF scaled = hn::Mul(hn::LoadU(d, blockValues + i), b);
    hn::StoreU(mulAdd(hn::LoadU(d, leftValues + i), a, scaled), d, leftValues + i);
  }
}

/// out [headDim] = values / sum, zeros where nothing was seen.
HWY_INLINE void finishRow(const Softmax& s, const float* values, int64_t headDim, float* out) {
  for (int64_t i = 0; i < headDim; ++i) out[i] = s.sum == 0.0f ? 0.0f : values[i] / s.sum;
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_ATTENTION_BLOCK_INL_H
