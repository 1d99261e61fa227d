// SPDX-License-Identifier: Apache-2.0
// Takes a linear step apart into single ops, for a back end without a fused step.
#pragma once

#include "kernels/ops/elementwise.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/rmsnorm.h"

namespace kvlab::kernels {

/// Calls run(args) for each op in turn; RmsnormArgs, MatmulArgs, SwigluArgs or AddArgs.
template <class Run>
void eachLinearStep(const LinearArgs& a, const Run& run) {
  const float* x = a.x;
  if (a.normWeight) {
    run(RmsnormArgs{.x = a.x,
                    .weight = a.normWeight,
                    .weightType = a.normType,
                    .weightOffset = a.normOffset,
                    .y = a.normed,
                    .rows = a.m,
                    .dim = a.k(),
                    .eps = a.eps});
    x = a.normed;
  }
  for (int i = 0; i < a.nParts; ++i) {
    const LinearPart& p = a.parts[i];
    run(MatmulArgs{.x = x, .w = p.w, .bias = p.bias, .y = p.y, .m = a.m});
  }
  const LinearPart& first = a.parts[0];
  if (a.out && a.residual) run(AddArgs{a.residual, first.y, a.out, a.m * first.w.n});
  else if (a.out)
    run(SwigluArgs{
        .gate = first.y, .up = a.parts[1].y, .out = a.out, .rows = a.m, .dim = first.w.n, .function = a.function});
}

}  // namespace kvlab::kernels
