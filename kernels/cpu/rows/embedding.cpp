// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/embedding.h"

#include <algorithm>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/embedding.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/linear/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE void scaleRow(float* row, int64_t count, float scale) {
  for (int64_t i = 0; i < count; ++i) row[i] *= scale;
}

}  // namespace

void embeddingTarget(ThreadPool& pool, const EmbeddingArgs& a) {
  const auto* table = static_cast<const uint8_t*>(a.table);
  const int64_t rowBytes = dtypeRowBytes(a.tableType, a.dim);
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, a.dim));
  pool.parallelFor(0, a.n, grain, [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) {
      readWeights(a.tableType, table + a.ids[i] * rowBytes, a.out + i * a.dim, a.dim);
      if (a.scale != 1.0f) scaleRow(a.out + i * a.dim, a.dim, a.scale);
    }
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {

KVLAB_CPU_OP(embedding, EmbeddingArgs)

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
