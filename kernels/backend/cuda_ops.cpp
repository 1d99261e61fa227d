// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/cuda_ops.h"

#include "kernels/backend/cuda_line.h"

namespace kvlab::kernels {
namespace {

CudaLine& lineOf(const Context& context) { return *static_cast<CudaLine*>(context.device); }

template <auto Op, class Args>
void enqueue(const Context& context, const Args& args) {
  CudaLine& d = lineOf(context);
  if (!d.failure) d.check(d.device(Op, d.stream, args), "a kernel was not started");
}

/// For ops that write where calls beside may still read.
template <auto Op, class Args>
void enqueueSettled(const Context& context, const Args& args) {
  lineOf(context).settle();
  enqueue<Op>(context, args);
}

/// Runs start(scratch); scratch is free for the next op at once: ops run one after another.
template <class Start>
void withScratch(CudaLine& d, int64_t bytes, const Start& start) {
  const Arena::Mark mark = d.arena.mark();
  void* scratch = bytes > 0 ? d.arena.take(bytes) : nullptr;
  if (scratch || bytes == 0) start(scratch);
  d.arena.rewind(mark);
}

void enqueueFast(const Context& context, const LinearArgs& args) {
  CudaLine& d = lineOf(context);
  if (d.failure) return;
  withScratch(d, d.device(&CudaApi::fastScratchBytes, args), [&](void* scratch) {
    d.check(d.device(&CudaApi::linearFast, d.stream, d.fast, args, scratch), "a product was not started");
  });
}

template <auto Attention>
void enqueueAttention(const Context& context, const AttentionArgs& args) {
  CudaLine& d = lineOf(context);
  if (d.failure) return;
  AttentionArgs scratched = args;
  withScratch(d, d.device(&CudaApi::attentionScratchBytes, args), [&](void* scratch) {
    scratched.scratch = scratch;
    d.check(d.device(Attention, d.stream, scratched), "attention was not started");
  });
}

}  // namespace

const OpTable& cudaOps() {
  static constexpr OpTable kOps = [] {
    OpTable ops{.numericsId = [] { return kCudaExactId; }, .targetName = [] { return "CUDA"; }};
#define KVLAB_OP(name, Args) ops.name = &enqueue<&CudaApi::name, Args>;
#include "kernels/ops/ops.inc"
#undef KVLAB_OP
    ops.attention = &enqueueAttention<&CudaApi::attention>;
    ops.writeRows = &enqueueSettled<&CudaApi::writeRows, WriteRowsArgs>;
    ops.moveRows = &enqueueSettled<&CudaApi::moveRows, MoveRowsArgs>;
    ops.zeroRows = &enqueueSettled<&CudaApi::zeroRows, ZeroRowsArgs>;
    return ops;
  }();
  return kOps;
}

const OpTable& cudaFastOps() {
  static const OpTable kOps = [] {
    OpTable ops = cudaOps();
    ops.numericsId = [] { return kCudaFastId; };
    ops.linear = &enqueueFast;
    ops.attention = &enqueueAttention<&CudaApi::attentionFast>;
    return ops;
  }();
  return kOps;
}

}  // namespace kvlab::kernels
