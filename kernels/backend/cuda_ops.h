// SPDX-License-Identifier: Apache-2.0
// The ops of the CUDA module as a back end calls them: Context::device is a CudaLine, whose stream they go to and
// whose arena gives them scratch. Failures stay with the line.
#pragma once

#include "kernels/ops/op_table.h"

namespace kvlab::kernels {

inline constexpr const char *kCudaExactId = "cuda-det", *kCudaFastId = "cuda-fast";

const OpTable& cudaOps();
/// With the products and the attention of kernels/cuda/linear/fast.h.
const OpTable& cudaFastOps();

}  // namespace kvlab::kernels
