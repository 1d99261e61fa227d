// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/op_table.h"

#include "kernels/cpu/runtime/targets.h"
#include "kernels/numerics.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/runtime/op_table.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

const char* targetNameTarget() { return hwy::TargetName(HWY_TARGET); }

const char* numericsIdTarget() {
#if HWY_TARGET == HWY_SSE4
  return "portable-muladd";
#else
  return "portable-fma";
#endif
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {
HWY_EXPORT(targetNameTarget);
HWY_EXPORT(numericsIdTarget);

const char* targetName() { return HWY_DYNAMIC_DISPATCH(targetNameTarget)(); }
const char* numericsId() { return HWY_DYNAMIC_DISPATCH(numericsIdTarget)(); }

namespace {

constexpr OpTable kCpuOps = {
    .numericsId = &numericsId,
    .targetName = &targetName,
#define KVLAB_OP(name, Args) .name = &name,
#include "kernels/ops/ops.inc"
#undef KVLAB_OP
};

constexpr OpTable withBf16(OpTable table) {
  table.numericsId = [] { return kBf16NumericsId; };
  table.matmul = &matmulBf16;
  table.linear = &linearBf16;
  return table;
}

constexpr OpTable withQ8(OpTable table) {
  table.numericsId = [] { return kQ8NumericsId; };
  table.matmul = &matmulQ8;
  table.linear = &linearQ8;
  return table;
}

constexpr OpTable kCpuBf16Ops = withBf16(kCpuOps), kCpuQ8Ops = withQ8(kCpuOps);

}  // namespace

const OpTable& cpuBf16Ops() { return kCpuBf16Ops; }
const OpTable& cpuQ8Ops() { return kCpuQ8Ops; }
const OpTable& cpuOps() { return kCpuOps; }

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
