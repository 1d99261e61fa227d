// SPDX-License-Identifier: Apache-2.0
// The kernel on tensor cores for heads of up to 128 values.
#include "kernels/cuda/attention_launch.h"

namespace kvlab::kernels::cuda {

int32_t walkMma128(const Walk& w, const Grid& grid, const TileShape& g) {
  const auto kernel = w.args.fmt.k == DType::f16 ? &mmaKernel<DType::f16, 128> : &mmaKernel<DType::bf16, 128>;
  return launch(kernel, grid, kMmaThreads, MmaShared::bytes(g.pitch), w.stream, w.args, w.plan, g);
}

}  // namespace kvlab::kernels::cuda
