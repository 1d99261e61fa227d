// SPDX-License-Identifier: Apache-2.0
// Starts kernels, and gives a kernel its dynamic shared memory. A kernel with dynamic shared memory has no static one,
// so that the kernel takes only the memory that a launch asks for. nvcc compiles this file for a device, the host's
// compiler for the emulated device of the tests.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#if !defined(__CUDACC__)
#include <source_location>
#include <string>
#include <tuple>
#endif

namespace kvlab::kernels::cuda {

/// Number of blocks per dimension. The emulated device also remembers who launches.
struct Grid {
  int64_t x, y, z;
#if defined(__CUDACC__)
  Grid(int64_t x_, int64_t y_ = 1, int64_t z_ = 1) : x(x_), y(y_), z(z_) {}
#else
  std::source_location from;
  Grid(int64_t x_, int64_t y_ = 1, int64_t z_ = 1, std::source_location at = std::source_location::current())
      : x(x_), y(y_), z(z_), from(at) {}
#endif
};

/// The present device as far as the shape of a launch depends on it.
struct DeviceShape {
  int sharedLimit = 0;  ///< bytes of a block, static and dynamic together
  int multiprocessors = 0;
};

inline cudaError_t readShape(int device, DeviceShape* shape) {
  if (const auto e = cudaDeviceGetAttribute(&shape->sharedLimit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
      e != cudaSuccess)
    return e;
  return cudaDeviceGetAttribute(&shape->multiprocessors, cudaDevAttrMultiProcessorCount, device);
}

// A launch asks the driver for what it has not said yet (remembered.cu).
#if defined(__CUDACC__)
cudaError_t askForShape(DeviceShape* shape);
cudaError_t allowShared(const void* kernel, int64_t bytes);
cudaError_t residentBlocks(const void* kernel, int threads, int64_t sharedBytes, int* blocks);
#else
inline cudaError_t askForShape(DeviceShape* shape) {
  int device = 0;
  if (const auto e = cudaGetDevice(&device); e != cudaSuccess) return e;
  return readShape(device, shape);
}
#endif

/// Lets a kernel have more dynamic shared memory than the 48 KiB that every device gives.
template <class... P>
int32_t prepareShared(void (*kernel)(P...), int64_t sharedBytes) {
  if (sharedBytes <= 48 * 1024) return cudaSuccess;
#if defined(__CUDACC__)
  return allowShared(reinterpret_cast<const void*>(kernel), sharedBytes);
#else
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sharedBytes));
#endif
}

/// Blocks of threads that a multiprocessor holds at once.
template <class... P>
int32_t occupancy(void (*kernel)(P...), int threads, int64_t sharedBytes, int* blocks) {
  if (const int32_t e = prepareShared(kernel, sharedBytes); e != cudaSuccess) return e;
#if defined(__CUDACC__)
  return residentBlocks(reinterpret_cast<const void*>(kernel), threads, sharedBytes, blocks);
#else
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, static_cast<size_t>(sharedBytes));
#endif
}

/// Starts kernel(args...). A grid without blocks starts nothing. Returns 0 or a CUDA error.
template <class... P, class... A>
int32_t launch(void (*kernel)(P...), const Grid& grid, dim3 block, int64_t sharedBytes, void* stream,
               const A&... args) {
  static_assert((sizeof(P) + ... + 0) <= 4096, "kernel arguments");
  if (grid.x <= 0 || grid.y <= 0 || grid.z <= 0) return cudaSuccess;
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), static_cast<unsigned>(grid.z));
  const auto shared = static_cast<size_t>(sharedBytes);
  if (const int32_t e = prepareShared(kernel, sharedBytes); e != cudaSuccess) return e;
#if defined(__CUDACC__)
  cudaGetLastError();  // an error of an earlier call was returned there
  kernel<<<blocks, block, shared, static_cast<cudaStream_t>(stream)>>>(args...);
  return cudaGetLastError();
#else
  const std::string file = grid.from.file_name();
  const std::string name = file.substr(file.rfind('/') + 1) + ":" + std::to_string(grid.from.line()) + " (" +
      grid.from.function_name() + ")";
  return simt::enqueue(static_cast<cudaStream_t>(stream),
                       {.grid = blocks,
                        .block = block,
                        .sharedBytes = shared,
                        .kernel = reinterpret_cast<const void*>(kernel),
                        .body = [kernel, all = std::tuple<P...>(args...)] { std::apply(kernel, all); },
                        .name = name});
#endif
}

/// The dynamic shared memory of the block, aligned to 16 bytes.
template <class T>
__device__ __forceinline__ T* dynamicShared() {
#if defined(__CUDACC__)
  extern __shared__ __align__(16) unsigned char kvlabDynamicShared[];
  return reinterpret_cast<T*>(kvlabDynamicShared);
#else
  return static_cast<T*>(simt::blockRunner().dynamicShared());
#endif
}

}  // namespace kvlab::kernels::cuda
