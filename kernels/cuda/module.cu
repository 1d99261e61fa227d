// SPDX-License-Identifier: Apache-2.0
// The table of module_api.h: devices, memory, streams, recorded passes, time stamps, operations.
#include "kernels/cuda/runtime/module_api.h"

#include <cuda_runtime.h>

#include <cstdio>

#include "kernels/cuda/linear/cublas_lt.h"
#include "kernels/cuda/linear/fast.h"
#include "kernels/cuda/runtime/bounds.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

cudaStream_t streamOf(void* stream) { return static_cast<cudaStream_t>(stream); }

/// Two transfers in each clock. Not every driver tells both figures.
int64_t peakOf(int32_t ordinal) {
  int kilohertz = 0, bits = 0;
  const bool told = cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, ordinal) == cudaSuccess &&
      cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, ordinal) == cudaSuccess;
  cudaGetLastError();  // an unknown figure is no error
  return told ? int64_t{2000} * kilohertz * (bits / 8) : 0;
}

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
  device.memoryBytes = static_cast<int64_t>(properties.totalGlobalMem);
  device.bytesPerSecond = peakOf(ordinal);
  snprintf(device.name, sizeof device.name, "%s", properties.name);
  return device;
}

/// Asked before every call; CUDA is asked where the device changes.
int32_t use(int32_t ordinal) {
  static thread_local int32_t used = -1;
  if (used == ordinal) return cudaSuccess;
  const cudaError_t error = cudaSetDevice(ordinal);
  cudaGetLastError();  // the caller has it
  if (error == cudaSuccess) used = ordinal;
  return error;
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
  return cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, streamOf(stream));
}

int32_t download(void* stream, void* to, const void* from, int64_t bytes) {
  return cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, streamOf(stream));
}

int32_t synchronise(void* stream) { return cudaStreamSynchronize(streamOf(stream)); }

int32_t openStream(void** stream) {
  cudaStream_t made = nullptr;
  const cudaError_t error = cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
  *stream = made;
  return error;
}

int32_t closeStream(void* stream) { return cudaStreamDestroy(streamOf(stream)); }

int32_t allocatePinned(int64_t bytes, void** out) {
  const cudaError_t error = cudaHostAlloc(out, static_cast<size_t>(bytes), cudaHostAllocDefault);
  if (error != cudaSuccess) cudaGetLastError();  // the next call is not to report it again
  return error;
}

int32_t releasePinned(void* memory) { return cudaFreeHost(memory); }

int32_t clear(void* stream, void* at, int64_t bytes) {
  return cudaMemsetAsync(at, 0, static_cast<size_t>(bytes), streamOf(stream));
}

int32_t beginCapture(void* stream) { return cudaStreamBeginCapture(streamOf(stream), cudaStreamCaptureModeRelaxed); }

int32_t endCapture(void* stream, void** graph, int64_t* nodes) {
  *graph = nullptr;
  *nodes = 0;
  cudaGraph_t recorded = nullptr;
  cudaError_t error = cudaStreamEndCapture(streamOf(stream), &recorded);
  if (error != cudaSuccess) return error;
  size_t count = 0;
  if (cudaGraphGetNodes(recorded, nullptr, &count) == cudaSuccess) *nodes = static_cast<int64_t>(count);
  cudaGraphExec_t made = nullptr;
  error = cudaGraphInstantiate(&made, recorded, 0);
  cudaGraphDestroy(recorded);
  *graph = made;
  return error;
}

int32_t launchGraph(void* stream, void* graph) {
  return cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), streamOf(stream));
}

int32_t makeEvent(void** event) {
  cudaEvent_t made = nullptr;
  const cudaError_t error = cudaEventCreate(&made);
  *event = made;
  return error;
}

int32_t releaseEvent(void* event) { return cudaEventDestroy(static_cast<cudaEvent_t>(event)); }
int32_t recordEvent(void* stream, void* event) {
  return cudaEventRecord(static_cast<cudaEvent_t>(event), streamOf(stream));
}
int32_t waitFor(void* stream, void* event) {
  return cudaStreamWaitEvent(streamOf(stream), static_cast<cudaEvent_t>(event), 0);
}
int32_t idle(void* stream, bool* out) {
  const cudaError_t answer = cudaStreamQuery(streamOf(stream));
  *out = answer != cudaErrorNotReady;
  if (answer != cudaErrorNotReady) return answer;
  cudaGetLastError();  // not an error of a call to come
  return cudaSuccess;
}
int32_t eventTime(void* begin, void* end, float* milliseconds) {
  return cudaEventElapsedTime(milliseconds, static_cast<cudaEvent_t>(begin), static_cast<cudaEvent_t>(end));
}

int32_t releaseGraph(void* graph) { return cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); }

constexpr CudaApi makeApi() {
  CudaApi api{.version = kCudaApiVersion};
#define KVLAB_CALL(Result, name, Arguments) api.name = &name;
#include "kernels/cuda/runtime/module_calls.inc"
#undef KVLAB_CALL
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
