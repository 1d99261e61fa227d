// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/rope.h"

#include <algorithm>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/rope.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/rows/row_codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

void ropeTarget(ThreadPool& pool, RopeArgs a) {
  if (a.xStride == 0) a.xStride = int64_t{a.heads} * a.headDim;
  const int64_t dim = int64_t{a.heads} * a.headDim;
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, dim));
  pool.parallelFor(0, a.n, grain, [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) {
      const float* row = a.table + int64_t{a.phaseIndex[i]} * rotaryWidth(a.headDim);
      for (int32_t h = 0; h < a.heads; ++h) {
        float* x = a.x + i * a.xStride + int64_t{h} * a.headDim;
        rotateHead<DType::f32>(reinterpret_cast<const uint8_t*>(x), nullptr, row, a.headDim, x);
      }
    }
  });
}

void reorderTarget(ThreadPool& pool, ReorderArgs a) {
  if (a.xStride == 0) a.xStride = int64_t{a.heads} * a.headDim;
  const int64_t dim = int64_t{a.heads} * a.headDim;
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, dim));
  pool.parallelFor(0, a.n, grain, [&](int64_t from, int64_t to, int) {
    float head[kReorderMax];
    for (int64_t i = from; i < to; ++i) {
      float* x = a.x + i * a.xStride;
      for (int32_t h = 0; h < a.heads; ++h, x += a.headDim) {
        std::copy(x, x + a.headDim, head);
        for (int32_t e = 0; e < a.headDim; ++e) x[e] = head[a.order[e]];
      }
    }
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {

KVLAB_CPU_OP(rope, RopeArgs)
KVLAB_CPU_OP(reorder, ReorderArgs)

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
