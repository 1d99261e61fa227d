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

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {

KVLAB_CPU_OP(convert, ConvertArgs)

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
