// SPDX-License-Identifier: Apache-2.0
// Chooses the kernel of a product; all give the same bits. Each instance is a file of its own
// (kernels/instances.cmake).
#pragma once

#include "kernels/cuda/linear/matmul_blocks.h"
#include "kernels/cuda/linear/matmul_few.h"
#include "kernels/cuda/linear/matmul_tiled.h"

namespace kvlab::kernels::cuda {

/// Few rows of x: the weights stream by once, unless the device's shared memory is too small for that. Else tiles.
template <DType T>
int32_t matmulOf(void* stream, const MatmulArgs& a) {
  if constexpr (dtypeInBlocks(T)) {
    return a.m <= kFewRows ? matmulBlocksFew<T>(stream, a) : matmulTiled<T>(stream, a);
  } else {
    DeviceShape device;
    const bool few = askForShape(&device) == cudaSuccess && matmulFewFits<T>(a, device.sharedLimit);
    return few ? matmulFew<T>(stream, a) : matmulTiled<T>(stream, a);
  }
}

}  // namespace kvlab::kernels::cuda
