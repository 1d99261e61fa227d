// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/linear.h"

namespace kvlab::kernels {
namespace {

template <auto kMatmul>
struct Run {
  const Context& context;
  void operator()(const RmsnormArgs& a) const { rmsnorm(context, a); }
  void operator()(const MatmulArgs& a) const { kMatmul(context, a); }
  void operator()(const SwigluArgs& a) const { swiglu(context, a); }
  void operator()(const AddArgs& a) const { add(context, a); }
};

}  // namespace

void linear(const Context& context, const LinearArgs& args) { eachLinearStep(args, Run<matmul>{context}); }
void linearBf16(const Context& context, const LinearArgs& args) { eachLinearStep(args, Run<matmulBf16>{context}); }
void linearQ8(const Context& context, const LinearArgs& args) { eachLinearStep(args, Run<matmulQ8>{context}); }

}  // namespace kvlab::kernels
