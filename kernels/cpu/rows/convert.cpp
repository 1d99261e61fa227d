// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/convert.h"

#include <algorithm>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/convert.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/linear/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

void convertTarget(ThreadPool& pool, const ConvertArgs& a) {
  constexpr int64_t kGrain = 65536;
  const auto* from = static_cast<const uint8_t*>(a.from);
  auto* to = static_cast<uint8_t*>(a.to);
  const int64_t fromBytes = dtypeBytes(a.fromType), toBytes = dtypeBytes(a.toType);
  if (dtypeInBlocks(a.fromType)) {
    const DTypeBlock block = dtypeBlock(a.fromType);
    return pool.parallelFor(0, a.count / block.values, kGrain / block.values, [&](int64_t i, int64_t end, int) {
      readWeights(a.fromType, from + i * block.bytes, reinterpret_cast<float*>(to) + i * block.values,
                  (end - i) * block.values);
    });
  }
  pool.parallelFor(0, a.count, kGrain, [&](int64_t i, int64_t end, int) {
    if (a.fromType == a.toType) {
      memmove(to + i * toBytes, from + i * fromBytes, static_cast<size_t>((end - i) * toBytes));
    } else if (a.toType == DType::f32) {
      withDType(a.fromType,
                [&](auto type) { readRow<type()>(from + i * fromBytes, reinterpret_cast<float*>(to) + i, end - i); });
    } else if (a.fromType == DType::f32) {
      withDType(a.toType, [&](auto type) {
        writeRow<type()>(reinterpret_cast<const float*>(from) + i, to + i * toBytes, end - i);
      });
    }
  });
}

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

KVLAB_CPU_OP(convert, ConvertArgs)
KVLAB_CPU_OP(embedding, EmbeddingArgs)

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
