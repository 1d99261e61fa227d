// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/linear_steps.h"

namespace kvlab::kernels {
namespace {

struct Run {
  const Context& context;
  void operator()(const RmsnormArgs& a) const { rmsnorm(context, a); }
  void operator()(const MatmulArgs& a) const { matmul(context, a); }
  void operator()(const SwigluArgs& a) const { swiglu(context, a); }
  void operator()(const AddArgs& a) const { add(context, a); }
};

}  // namespace

void linear(const Context& context, const LinearArgs& args) { eachLinearStep(args, Run{context}); }

}  // namespace kvlab::kernels
