// SPDX-License-Identifier: Apache-2.0
// All ops of one back end as function pointers, so that an engine can be handed a back end. Every
// pointer of a table is set. Op arguments are plain structs; memory is the back end's own.
#pragma once

#include "kernels/ops/attention.h"
#include "kernels/ops/convert.h"
#include "kernels/ops/diff_rows.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/embedding.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/rmsnorm.h"
#include "kernels/ops/rope.h"
#include "kernels/ops/row_ops.h"
#include "kernels/ops/sample.h"

namespace kvlab::kernels {

struct OpTable {
  const char* (*numericsId)();
  const char* (*targetName)();
  void (*convert)(const Context&, const ConvertArgs&);
  void (*embedding)(const Context&, const EmbeddingArgs&);
  void (*matmul)(const Context&, const MatmulArgs&);
  void (*rmsnorm)(const Context&, const RmsnormArgs&);
  void (*add)(const Context&, const AddArgs&);
  void (*swiglu)(const Context&, const SwigluArgs&);
  void (*rope)(const Context&, const RopeArgs&);
  void (*attention)(const Context&, const AttentionArgs&);
  void (*writeRows)(const Context&, const WriteRowsArgs&);
  void (*moveRows)(const Context&, const MoveRowsArgs&);
  void (*zeroRows)(const Context&, const ZeroRowsArgs&);
  void (*gatherRows)(const Context&, const GatherRowsArgs&);
  void (*verifyRows)(const Context&, const VerifyRowsArgs&);
  void (*readTags)(const Context&, const ReadTagsArgs&);
  void (*matchTags)(const Context&, const MatchTagsArgs&);
  void (*diffRows)(const Context&, const DiffRowsArgs&);
  void (*argmax)(const Context&, const ArgmaxArgs&);
  void (*softmax)(const Context&, const SoftmaxArgs&);
  void (*topk)(const Context&, const TopkArgs&);
};

/// The CPU back end. Always there; the reference to a constant table lives as long as the program.
const OpTable& cpuOps();

}  // namespace kvlab::kernels
