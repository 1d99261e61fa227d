// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/op_table.h"

#include "kernels/numerics.h"

namespace kvlab::kernels {
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
