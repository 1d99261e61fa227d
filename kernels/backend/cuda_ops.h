// SPDX-License-Identifier: Apache-2.0
// The ops of the CUDA module as a back end calls them. Context::device is a CudaLine: ops run on its stream, take
// scratch from its arena, and leave failures with it.
#pragma once

#include "kernels/ops/op_table.h"

namespace kvlab::kernels {

inline constexpr const char *kCudaExactId = "cuda-det", *kCudaFastId = "cuda-fast";

const OpTable& cudaOps();
/// The same ops with the products and the attention of kernels/cuda/linear/fast.h.
const OpTable& cudaFastOps();

}  // namespace kvlab::kernels
