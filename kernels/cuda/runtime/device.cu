// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/device.h"

#include <cuda_runtime.h>

namespace kvlab::kernels::cuda {
namespace {

cudaStream_t streamOf(void* stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace

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

}  // namespace kvlab::kernels::cuda
