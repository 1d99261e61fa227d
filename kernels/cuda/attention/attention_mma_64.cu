// SPDX-License-Identifier: Apache-2.0
// The kernel on tensor cores for heads of up to 64 values.
#include "kernels/cuda/attention/attention_launch.h"

namespace kvlab::kernels::cuda {

int32_t walkMma64(const Walk& w, const Grid& grid, const TileShape& g) {
  switch ((w.args.fmt.headDim + 15) / 16) {
    case 1: return startMma<16>(w.stream, w.args, w.plan, grid, g);
    case 2: return startMma<32>(w.stream, w.args, w.plan, grid, g);
    case 3: return startMma<48>(w.stream, w.args, w.plan, grid, g);
    default: return startMma<64>(w.stream, w.args, w.plan, grid, g);
  }
}

int32_t mmaCompiledFor(int* capability) {
  cudaFuncAttributes kernel{};
  const cudaError_t error = cudaFuncGetAttributes(&kernel, &mmaKernel<DType::bf16, 64>);
  *capability = kernel.ptxVersion;
  return error;
}

}  // namespace kvlab::kernels::cuda
