// SPDX-License-Identifier: Apache-2.0
#include "kernels/quadratic_forms.h"

#include <algorithm>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/quadratic_forms.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/runtime/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int kChains = 4;                       // sums at a time, because each waits for its own last step
constexpr int64_t kFormRows = kChains * kLanes;  // one row per lane

/// Lays rows side by side: columns [dim, kFormRows], 0 where there is no row.
void sideBySide(const QuadraticFormsArgs& a, int64_t from, int64_t rows, float* columns) {
  const float* x = a.x + from * a.xStride;
  for (int32_t i = 0; i < a.dim; ++i)
    for (int64_t row = 0; row < kFormRows; ++row) *columns++ = row < rows ? x[row * a.xStride + i] : 0.0f;
}

void formOfRows(const float* form, const float* columns, int32_t dim, float* out) {
  const DF d;
  VF sum[kChains];
  KVLAB_UNROLL for (int c = 0; c < kChains; ++c) sum[c] = hn::Zero(d);
  for (int32_t i = 0; i < dim; ++i) {
    VF inner[kChains];
    KVLAB_UNROLL for (int c = 0; c < kChains; ++c) inner[c] = hn::Set(d, *form);
    ++form;
    for (int32_t j = i; j < dim; ++j) {
      const VF weight = hn::Set(d, *form++);
      KVLAB_UNROLL for (int c = 0; c < kChains; ++c) {
        inner[c] = mulAdd(weight, hn::LoadU(d, columns + j * kFormRows + c * kLanes), inner[c]);
      }
    }
    KVLAB_UNROLL for (int c = 0; c < kChains; ++c) {
      sum[c] = mulAdd(hn::LoadU(d, columns + i * kFormRows + c * kLanes), inner[c], sum[c]);
    }
  }
  KVLAB_UNROLL for (int c = 0; c < kChains; ++c) hn::StoreU(sum[c], d, out + c * kLanes);
}

}  // namespace

void quadraticFormsTarget(ThreadPool& pool, QuadraticFormsArgs a) {
  if (a.xStride == 0) a.xStride = a.dim;
  const int64_t blocks = (a.rows + kFormRows - 1) / kFormRows, weights = formWeights(a.dim);
  const int64_t grain = 1 + 2'000'000 / std::max<int64_t>(1, kFormRows * a.count * weights);
  pool.parallelFor(0, blocks, grain, [&](int64_t first, int64_t last, int worker) {
    auto* columns =
        reinterpret_cast<float*>(pool.scratch(worker, sizeof(float) * static_cast<size_t>(a.dim * kFormRows)));
    for (int64_t block = first; block < last; ++block) {
      const int64_t from = block * kFormRows, rows = std::min(kFormRows, a.rows - from);
      sideBySide(a, from, rows, columns);
      for (int32_t form = 0; form < a.count; ++form) {
        float sums[kFormRows];
        formOfRows(a.forms + form * weights, columns, a.dim, sums);
        std::copy_n(sums, rows, a.out + form * a.rows + from);
      }
    }
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {

KVLAB_CPU_OP(quadraticForms, QuadraticFormsArgs)

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
