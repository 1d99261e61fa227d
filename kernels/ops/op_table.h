// SPDX-License-Identifier: Apache-2.0
// All ops of one back end as function pointers, so that an engine can be handed a back end. Every
// pointer of a table is set. Op arguments are plain structs; memory is the back end's own.
#pragma once

#include "kernels/ops/attention.h"
#include "kernels/ops/convert.h"
#include "kernels/ops/diff_rows.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/experts.h"
#include "kernels/ops/gate_mlp.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/rmsnorm.h"
#include "kernels/ops/rope.h"
#include "kernels/ops/row_ops.h"
#include "kernels/ops/sample.h"

namespace kvlab::kernels {

struct OpTable {
  const char* (*numericsId)() = nullptr;
  const char* (*targetName)() = nullptr;
#define KVLAB_OP(name, Args) void (*name)(const Context&, const Args&) = nullptr;
#include "kernels/ops/ops.inc"
#undef KVLAB_OP
};

/// The CPU back end. Always there; the reference to a constant table lives as long as the program.
const OpTable& cpuOps();
/// The CPU back end with the numerics kBf16NumericsId.
const OpTable& cpuBf16Ops();
/// The CPU back end with the numerics kQ8NumericsId.
const OpTable& cpuQ8Ops();

}  // namespace kvlab::kernels
