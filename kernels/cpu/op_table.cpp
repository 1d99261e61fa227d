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

}  // namespace

const OpTable& cpuOps() { return kCpuOps; }

}  // namespace kvlab::kernels
