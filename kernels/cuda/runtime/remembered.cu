// SPDX-License-Identifier: Apache-2.0
// What launch.h asks the driver, by device and kernel. The emulated device is asked anew each time, because tests
// change it.
#include "kernels/cuda/runtime/remembered.h"

#include <tuple>
#include <utility>

#include "kernels/cuda/runtime/launch.h"

#if defined(__CUDACC__)

namespace kvlab::kernels::cuda {

cudaError_t askForShape(DeviceShape* shape) {
  static Remembered<int, DeviceShape> known;
  int device = 0;
  if (const auto e = cudaGetDevice(&device); e != cudaSuccess) return e;
  return static_cast<cudaError_t>(known.of(device, shape, [=](DeviceShape* out) { return readShape(device, out); }));
}

cudaError_t allowShared(const void* kernel, int64_t bytes) {
  static Raised<std::pair<int, const void*>> allowed;
  int device = 0;
  if (const auto e = cudaGetDevice(&device); e != cudaSuccess) return e;
  return static_cast<cudaError_t>(allowed.to({device, kernel}, bytes, [=] {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  }));
}

cudaError_t residentBlocks(const void* kernel, int threads, int64_t sharedBytes, int* blocks) {
  static Remembered<std::tuple<int, const void*, int, int64_t>, int> known;
  int device = 0;
  if (const auto e = cudaGetDevice(&device); e != cudaSuccess) return e;
  return static_cast<cudaError_t>(known.of({device, kernel, threads, sharedBytes}, blocks, [=](int* out) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(out, kernel, threads, static_cast<size_t>(sharedBytes));
  }));
}

}  // namespace kvlab::kernels::cuda

#endif
