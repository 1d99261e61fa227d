// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "launch_limits.h"

namespace kvlab::simt {
namespace {

uint64_t fromEnvironment(const char* name, uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given && *given ? std::strtoull(given, nullptr, 10) : otherwise;
}

}  // namespace

Runtime::Runtime() : memory(fromEnvironment("KVLAB_SIMT_MEMORY", uint64_t{4} << 30)) {}

Runtime& runtime() {
  static Runtime one;
  return one;
}

bool dry() { return fromEnvironment("KVLAB_SIMT_DRY", 0) != 0; }

BlockRunner& blockRunner() { return runtime().blocks; }

cudaError_t Runtime::add(cudaStream_t stream, SimtWork work) {
  if (const cudaError_t e = use(stream); e != cudaSuccess) return e;
  if (!stream || !stream->capture) return remember(work());
  stream->capture->graph.work.push_back(std::move(work));
  ++stream->before[stream];
  return cudaSuccess;
}

cudaError_t enqueue(cudaStream_t stream, Launch launch) {
  const OnDevice on;
  Runtime& r = runtime();
  if (const cudaError_t e = refusal(launch); e != cudaSuccess) return r.remember(e);
  if (dry()) return cudaSuccess;
  return r.add(stream, [&r, launch = std::move(launch)] {
    const DeviceMemory::Open open(r.memory);
    Fault fault = r.blocks.run(launch, fromEnvironment("KVLAB_SIMT_SEED", 0));
    if (fault.text.empty()) return cudaSuccess;
    r.failure = std::move(fault.text);
    fprintf(stderr, "emulated device: %s\n", r.failure.c_str());
    return fault.misaligned ? cudaErrorMisalignedAddress : cudaErrorLaunchFailure;
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

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  const OnDevice on;
  runtime().streams.push_back(std::make_unique<CUstream_st>());
  *out = runtime().streams.back().get();
  (*out)->blocking = (flags & cudaStreamNonBlocking) == 0;
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* out) { return cudaStreamCreateWithFlags(out, cudaStreamDefault); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int) {
  return cudaStreamCreateWithFlags(out, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const OnDevice on;
  if (const cudaError_t e = runtime().await(stream); e != cudaSuccess) return e;
  const auto gone = std::erase_if(runtime().streams, [&](const auto& s) { return s.get() == stream; });
  return gone ? cudaSuccess : runtime().remember(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const OnDevice on;
  return runtime().await(stream);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaDeviceSynchronize() {
  const OnDevice on;
  return runtime().awaitAll();
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

/// In a capture an event is a place in the graph, no work.
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const OnDevice on;
  if (const cudaError_t e = runtime().use(stream); e != cudaSuccess) return e;
  event->capture = stream ? stream->capture : nullptr;
  event->before = stream ? stream->before : kvlab::simt::Before();
  if (stream && stream->capture) return cudaSuccess;
  return runtime().add(stream, [event] {
    event->at = std::chrono::steady_clock::now();
    event->recorded = true;
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const OnDevice on;
  return runtime().askAbout(*event);
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const OnDevice on;
  for (const CUevent_st* one : {begin, end}) {
    if (const cudaError_t e = runtime().askAbout(*one); e != cudaSuccess) return e;
    if (!one->recorded) return runtime().remember(cudaErrorInvalidResourceHandle);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
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
