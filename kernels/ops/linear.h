// SPDX-License-Identifier: Apache-2.0
// A linear step of a decoder with the ops around it: a norm before, up to three weight matrices that
// share the input, and behind them either nothing, a residual or a gate. Bits are those of the single ops
// one after another (rmsnorm, matmul, swiglu, add), so a back end may fuse as much as it likes.
#pragma once

#include <cstdint>

#include "kernels/context.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/rmsnorm.h"
#include "kernels/platform.h"

namespace kvlab::kernels {

/// One matrix: y = x' w^T (* scale) (+ bias), where x' is the input after the norm.
struct LinearPart {
  Weight w = {};
  const float* bias = nullptr;  ///< [n] or null
  float* y = nullptr;           ///< [m, n], dense
};

inline constexpr int kLinearParts = 3;

struct LinearArgs {
  const float* x = nullptr;  ///< [m, k], dense
  int64_t m = 0;

  const void* normWeight = nullptr;  ///< [k] or null: x' is x
  DType normType = DType::f32;
  float normOffset = 0.0f, eps = 1e-5f;
  float* normed = nullptr;  ///< [m, k] scratch, with normWeight; undefined afterwards

  LinearPart parts[kLinearParts] = {};  ///< all have the same k
  int nParts = 0;
  KVLAB_HD int64_t k() const { return parts[0].w.k; }

  /// Behind the matrices; `out` is null if their products are the result, else these are scratch,
  /// undefined afterwards.
  float* out = nullptr;  ///< [m, n]: two parts of equal n: function(y0) * y1, may equal y0
  GateFunction function = GateFunction::silu;
  const float* residual = nullptr;  ///< [m, n]: one part: out = residual + y0; may equal out
};

void linear(const Context&, const LinearArgs&);

/// linear() with matmulBf16() instead of matmul(). CPU.
void linearBf16(const Context&, const LinearArgs&);
/// linear() with matmulQ8(). CPU.
void linearQ8(const Context&, const LinearArgs&);

/// Takes a step apart into single ops, for a back end without a fused step: calls run(args) for each op in turn;
/// RmsnormArgs, MatmulArgs, SwigluArgs or AddArgs.
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
