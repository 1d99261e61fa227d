// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace kvlab::simt {
namespace {

uint64_t fromEnvironment(const char* name, uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given && *given ? std::strtoull(given, nullptr, 10) : otherwise;
}

cudaError_t refuse(const Launch& l) {
  const uint64_t threads = uint64_t{l.block.x} * l.block.y * l.block.z;
  const bool good = threads > 0 && threads <= 1024 && l.block.z <= 64 && l.grid.x > 0 && l.grid.y > 0 && l.grid.z > 0 &&
      l.grid.x <= 0x7fffffffu && l.grid.y <= 65535 && l.grid.z <= 65535;
  if (!good) return cudaErrorInvalidConfiguration;
  return l.sharedBytes > sharedLimit() ? cudaErrorInvalidValue : cudaSuccess;
}

}  // namespace

size_t sharedLimit() { return std::min<uint64_t>(kSharedLimit, fromEnvironment("KVLAB_SIMT_SHARED", kSharedLimit)); }

Runtime::Runtime() : memory(fromEnvironment("KVLAB_SIMT_MEMORY", uint64_t{4} << 30)) {}

Runtime& runtime() {
  static Runtime one;
  return one;
}

BlockRunner& blockRunner() { return runtime().blocks; }

bool Runtime::capturing() const {
  return std::any_of(streams.begin(), streams.end(), [](const auto& s) { return s->graph != nullptr; });
}

cudaError_t Runtime::add(cudaStream_t stream, SimtWork work) {
  if (!stream || !stream->graph) return remember(work());
  stream->graph->work.push_back(std::move(work));
  return cudaSuccess;
}

cudaError_t enqueue(cudaStream_t stream, Launch launch) {
  const OnDevice on;
  Runtime& r = runtime();
  if (const cudaError_t e = refuse(launch); e != cudaSuccess) return r.remember(e);
  if (fromEnvironment("KVLAB_SIMT_DRY", 0)) return cudaSuccess;
  return r.add(stream, [&r, launch = std::move(launch)] {
    const DeviceMemory::Open open(r.memory);
    std::string failure = r.blocks.run(launch, fromEnvironment("KVLAB_SIMT_SEED", 0));
    if (failure.empty()) return cudaSuccess;
    r.failure = std::move(failure);
    fprintf(stderr, "emulated device: %s\n", r.failure.c_str());
    return cudaErrorLaunchFailure;
  });
}

bool introduce(void* library) {
  const auto meet = reinterpret_cast<void (*)(HostWork)>(dlsym(library, "kvlab_simt_meet"));
  if (!meet) return false;
  meet([](cudaStream_t stream, std::function<void()> work) {
    const OnDevice on;
    return runtime().add(stream, [work = std::move(work)] {
      const DeviceMemory::Open open(runtime().memory);
      work();
      return cudaSuccess;
    });
  });
  return true;
}

}  // namespace kvlab::simt

using kvlab::simt::OnDevice;
using kvlab::simt::runtime;

cudaError_t cudaStreamCreate(cudaStream_t* out) {
  const OnDevice on;
  runtime().streams.push_back(std::make_unique<CUstream_st>());
  *out = runtime().streams.back().get();
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned) { return cudaStreamCreate(out); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned, int) { return cudaStreamCreate(out); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const OnDevice on;
  const auto gone = std::erase_if(runtime().streams, [&](const auto& s) { return s.get() == stream; });
  return gone ? cudaSuccess : runtime().remember(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const OnDevice on;
  return stream && stream->graph ? runtime().remember(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaDeviceSynchronize() {
  const OnDevice on;
  return runtime().capturing() ? runtime().remember(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

/// A stream that waits for an event of a capture takes part in that capture.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const OnDevice on;
  const auto& all = runtime().streams;
  const bool goesOn =
      std::any_of(all.begin(), all.end(), [&](const auto& s) { return s->graph && s->graph == event->graph; });
  if (goesOn && stream) stream->graph = event->graph;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* out) {
  *out = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) { return cudaEventCreate(out); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const OnDevice on;
  event->graph = stream ? stream->graph : nullptr;
  return runtime().add(stream, [event] {
    event->at = std::chrono::steady_clock::now();
    event->recorded = true;
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const OnDevice on;
  if (!begin->recorded || !end->recorded) return runtime().remember(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const OnDevice on;
  if (!stream || stream->graph) return runtime().remember(cudaErrorStreamCaptureUnsupported);
  stream->graph = new CUgraph_st;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* out) {
  const OnDevice on;
  if (!stream || !stream->graph) return runtime().remember(cudaErrorInvalidValue);
  *out = stream->graph;
  for (const auto& s : runtime().streams)
    if (s->graph == *out) s->graph = nullptr;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* out) {
  *out = stream && stream->graph ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (nodes) return runtime().remember(cudaErrorNotSupported);
  *count = graph->work.size();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  *out = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const OnDevice on;
  for (const SimtWork& work : exec->work)
    if (const cudaError_t e = runtime().add(stream, work); e != cudaSuccess) return e;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
