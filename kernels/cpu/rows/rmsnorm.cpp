// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/rmsnorm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/rmsnorm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/runtime/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

/// y = x * factor * (weight + offset), value by value in that order.
template <DType T>
HWY_INLINE void normRow(const RmsnormArgs& a, const float* x, float* y) {
  constexpr int64_t kBytes = dtypeBytes(T);
  const DF d;
  const auto* w = static_cast<const uint8_t*>(a.weight);
  const float mean = sumOfSquares(x, a.dim) / static_cast<float>(a.dim);
  const VF factor = hn::Set(d, 1.0f / std::sqrt(mean + a.eps));
  const VF offset = hn::Set(d, a.weightOffset);
  int64_t i = 0;
  for (; i + kLanes <= a.dim; i += kLanes) {
    const VF weight = hn::Add(loadAs<T>(d, w + i * kBytes), offset);
    hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + i), factor), weight), d, y + i);
  }
  if (i >= a.dim) return;
  alignas(64) float wTail[16];
  readRow<T>(w + i * kBytes, wTail, a.dim - i);
  for (int64_t j = 0; i + j < a.dim; ++j) {
    y[i + j] = x[i + j] * hn::GetLane(factor) * (wTail[j] + a.weightOffset);
  }
}

}  // namespace

void rmsnormTarget(ThreadPool& pool, RmsnormArgs a) {
  if (a.xStride == 0) a.xStride = a.dim;
  if (a.yStride == 0) a.yStride = a.dim;
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, a.dim));
  pool.parallelFor(0, a.rows, grain, [&](int64_t from, int64_t to, int) {
    withDType(a.weightType, [&](auto type) {
      for (int64_t r = from; r < to; ++r) normRow<type()>(a, a.x + r * a.xStride, a.y + r * a.yStride);
    });
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {

KVLAB_CPU_OP(rmsnorm, RmsnormArgs)

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
