// SPDX-License-Identifier: Apache-2.0
// A linear step as single ops one after another.
#include "kernels/cuda/ops.h"
#include "kernels/ops/linear_steps.h"

namespace kvlab::kernels::cuda {
namespace {

struct Run {
  void* stream;
  int32_t* error;
  template <class Op, class Args>
  void call(const Op& op, const Args& a) const {
    if (*error == 0) *error = op(stream, a);
  }
  void operator()(const RmsnormArgs& a) const { call(rmsnorm, a); }
  void operator()(const MatmulArgs& a) const { call(matmul, a); }
  void operator()(const SwigluArgs& a) const { call(swiglu, a); }
  void operator()(const AddArgs& a) const { call(add, a); }
};

}  // namespace

int32_t linear(void* stream, const LinearArgs& args) {
  int32_t error = 0;
  eachLinearStep(args, Run{stream, &error});
  return error;
}

}  // namespace kvlab::kernels::cuda
