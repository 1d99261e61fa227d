// SPDX-License-Identifier: Apache-2.0
// The implementation behind the CUDA runtime's functions: the memory, the runner of blocks, streams and graphs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
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
struct CUstream_st {
  CUgraph_st* graph = nullptr;  ///< while capturing
};
struct CUevent_st {
  std::chrono::steady_clock::time_point at{};
  bool recorded = false;
  CUgraph_st* graph = nullptr;  ///< graph of the capture that recorded it
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
  bool capturing() const;
  cudaError_t add(cudaStream_t, SimtWork);
};

/// Enqueues work of the host that may touch device memory.
using HostWork = cudaError_t (*)(cudaStream_t, std::function<void()>);

/// CUDA has one device state for a process.
Runtime& runtime();

/// Keeps other threads off the device while it lives.
struct OnDevice {
  std::lock_guard<std::recursive_mutex> lock{runtime().mutex};
};

}  // namespace kvlab::simt
