// SPDX-License-Identifier: Apache-2.0
// The kernel on tensor cores for heads of up to 64 values.
#include "kernels/cuda/attention_launch.h"

namespace kvlab::kernels::cuda {

int32_t walkMma64(const Walk& w, const Grid& grid, const TileShape& g) {
  const auto kernel = w.args.fmt.k == DType::f16 ? &mmaKernel<DType::f16, 64> : &mmaKernel<DType::bf16, 64>;
  return launch(kernel, grid, kMmaThreads, MmaShared::bytes(g.pitch), w.stream, w.args, w.plan, g);
}

int32_t mmaCompiledFor(int* capability) {
  cudaFuncAttributes kernel{};
  const cudaError_t error = cudaFuncGetAttributes(&kernel, &mmaKernel<DType::bf16, 64>);
  *capability = kernel.ptxVersion;
  return error;
}

}  // namespace kvlab::kernels::cuda
