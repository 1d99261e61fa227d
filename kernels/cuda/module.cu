// SPDX-License-Identifier: Apache-2.0
// The table of module_api.h: devices, memory, operations.
#include "kernels/cuda/runtime/module_api.h"

#include <cuda_runtime.h>

#include <cstdio>

#include "kernels/cuda/linear/cublas_lt.h"
#include "kernels/cuda/linear/fast.h"
#include "kernels/cuda/runtime/bounds.h"
#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

CudaDevice probe(int32_t ordinal) {
  CudaDevice device;
  cudaDeviceProp properties{};
  const auto ask = [&]() -> cudaError_t {
    if (const auto e = cudaRuntimeGetVersion(&device.runtime); e != cudaSuccess) return e;
    if (const auto e = cudaDriverGetVersion(&device.driver); e != cudaSuccess) return e;
    if (const auto e = cudaGetDeviceCount(&device.devices); e != cudaSuccess) return e;
    if (ordinal < 0 || ordinal >= device.devices) return cudaErrorInvalidDevice;
    return cudaGetDeviceProperties(&properties, ordinal);
  };
  device.error = ask();
  cudaGetLastError();  // the result is in device.error; the next call must not see it
  if (device.error) return device;
  device.major = properties.major;
  device.minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.memoryBytes = static_cast<int64_t>(properties.totalGlobalMem);
  snprintf(device.name, sizeof device.name, "%s", properties.name);
  return device;
}

const char* errorText(int32_t error) {
  return error >= kCublasError ? cublasErrorText(error) : cudaGetErrorString(static_cast<cudaError_t>(error));
}

int32_t memory(int64_t* freeBytes, int64_t* allBytes) {
  size_t free = 0, all = 0;
  const cudaError_t error = cudaMemGetInfo(&free, &all);
  *freeBytes = static_cast<int64_t>(free);
  *allBytes = static_cast<int64_t>(all);
  return error;
}

int32_t allocate(int64_t bytes, void** out) {
  const cudaError_t error = cudaMalloc(out, static_cast<size_t>(bytes));
  cudaGetLastError();  // running out of memory leaves the device as it was
  if (error == cudaSuccess) noteAllocation(*out, bytes);
  return error;
}

int32_t release(void* memory) {
  forgetAllocation(memory);
  return cudaFree(memory);
}

int32_t upload(void* stream, void* to, const void* from, int64_t bytes) {
  return cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice,
                         static_cast<cudaStream_t>(stream));
}

int32_t download(void* stream, void* to, const void* from, int64_t bytes) {
  return cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost,
                         static_cast<cudaStream_t>(stream));
}

int32_t synchronise(void* stream) { return cudaStreamSynchronize(static_cast<cudaStream_t>(stream)); }

constexpr CudaApi makeApi() {
  CudaApi api{.version = kCudaApiVersion,
              .probe = &probe,
              .errorText = &errorText,
              .memory = &memory,
              .allocate = &allocate,
              .release = &release,
              .upload = &upload,
              .download = &download,
              .synchronise = &synchronise,
              .openStream = &openStream,
              .closeStream = &closeStream,
              .allocatePinned = &allocatePinned,
              .releasePinned = &releasePinned,
              .clear = &clear,
              .beginCapture = &beginCapture,
              .endCapture = &endCapture,
              .launchGraph = &launchGraph,
              .releaseGraph = &releaseGraph,
              .makeEvent = &makeEvent,
              .releaseEvent = &releaseEvent,
              .recordEvent = &recordEvent,
              .waitFor = &waitFor,
              .idle = &idle,
              .eventTime = &eventTime,
              .attentionScratchBytes = &attentionScratchBytes,
              .findFast = &findFast,
              .openFast = &openFast,
              .closeFast = &closeFast,
              .fastScratchBytes = &fastScratchBytes,
              .linearFast = &linearFast,
              .attentionFast = &attentionFast,
              .takeBoundsReport = &takeBoundsReport};
#define KVLAB_OP(name, Args) api.name = &name;
#include "kernels/ops/ops.inc"
#undef KVLAB_OP
  return api;
}

constexpr CudaApi kApi = makeApi();

}  // namespace
}  // namespace kvlab::kernels::cuda

extern "C" __attribute__((visibility("default"))) const kvlab::kernels::CudaApi* kvlab_cuda_api() {
  return &kvlab::kernels::cuda::kApi;
}
