// SPDX-License-Identifier: Apache-2.0
// Every op on a device, as kernels/ops describes it; module_api.h lists the differences. An op only enqueues.
#pragma once

#include "kernels/ops/op_table.h"

namespace kvlab::kernels::cuda {

#define KVLAB_OP(name, Args) int32_t name(void* stream, const Args&);
#include "kernels/ops/ops.inc"
#undef KVLAB_OP

/// The op of these arguments.
#define KVLAB_OP(name, Args) \
  inline int32_t runOp(void* stream, const Args& a) { return name(stream, a); }
#include "kernels/ops/ops.inc"
#undef KVLAB_OP

/// attention(): `rows` may be an upper bound of the rows that the queries see; pool, table and scratch start at
/// multiples of 256 bytes. The scratch it needs, which depends on no array:
int64_t attentionScratchBytes(const AttentionArgs&);

}  // namespace kvlab::kernels::cuda
