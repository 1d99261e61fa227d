// SPDX-License-Identifier: Apache-2.0
// The implementation behind the CUDA runtime's functions: the memory, the runner of blocks, streams and graphs.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cuda_runtime.h"
#include "memory.h"

using SimtWork = std::function<cudaError_t()>;

struct CUgraph_st {
  std::vector<SimtWork> work;
};
struct CUgraphExec_st {
  std::vector<SimtWork> work;
};
namespace kvlab::simt {

/// A pass that streams record: the one that began it, and those that waited for its events.
struct Capture {
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  CUgraph_st graph = {};
  bool invalid = false;  ///< a call broke the rules; the graph is lost
};

/// How many works of each stream of a capture come before a point of a stream.
using Before = std::map<cudaStream_t, size_t>;

}  // namespace kvlab::simt

struct CUstream_st {
  bool blocking = true;  ///< waits for the default stream, and that one for it
  std::shared_ptr<kvlab::simt::Capture> capture;
  kvlab::simt::Before before;  ///< while it takes part in a capture
};
struct CUevent_st {
  std::chrono::steady_clock::time_point at{};
  bool recorded = false;
  std::weak_ptr<kvlab::simt::Capture> capture;  ///< the one that recorded it last
  kvlab::simt::Before before;
};

namespace kvlab::simt {

struct Runtime {
  std::recursive_mutex mutex;  ///< streams may belong to different threads; the device does one thing at a time
  DeviceMemory memory;
  BlockRunner blocks;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::string failure;  ///< text of the last failed launch
  cudaError_t last = cudaSuccess;

  Runtime();
  cudaError_t remember(cudaError_t e) {
    if (e != cudaSuccess) last = e;
    return e;
  }
  cudaError_t add(cudaStream_t, SimtWork);

  // The rules of captures (capture.cpp): each of these returns 0, or an error after it has invalidated what the call
  // collides with.
  cudaError_t use(cudaStream_t);            ///< before work is given to a stream
  cudaError_t await(cudaStream_t);          ///< before the host waits for or asks about a stream
  cudaError_t awaitAll();                   ///< the same of all streams
  cudaError_t askAbout(const CUevent_st&);  ///< before the host waits for or asks about an event
  cudaError_t callUnsafe();                 ///< before a call that a stream does not order, as cudaMalloc
};

/// Enqueues work of the host that may touch device memory.
using HostWork = cudaError_t (*)(cudaStream_t, std::function<void()>);

/// Whether the environment asks for checks alone.
bool dry();

/// CUDA has one device state for a process.
Runtime& runtime();

/// Keeps other threads off the device while it lives.
struct OnDevice {
  std::lock_guard<std::recursive_mutex> lock{runtime().mutex};
};

}  // namespace kvlab::simt
