// SPDX-License-Identifier: Apache-2.0
// The interface of the CUDA module: one C function returns this table to the program that opens the module. The
// module is a file of its own, so the program also starts without CUDA. Pointers inside op arguments are device
// addresses; a stream is a cudaStream_t, null for the default stream. Functions that return an int32_t give 0 or a
// CUDA error; errorText() gives the text of an error. Any thread may call; a stream belongs to one thread at a
// time.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "kernels/ops/op_table.h"

namespace kvlab::kernels {

struct CudaDevice {
  int32_t error = 0;  ///< result of the query; the other fields are set only where it is 0
  int32_t devices = 0;
  int32_t driver = 0;            ///< CUDA version of the driver, 1000 * major + 10 * minor; 0 = none
  int32_t runtime = 0;           ///< the same of the module
  int32_t major = 0, minor = 0;  ///< compute capability
  int32_t multiprocessors = 0;
  int64_t memoryBytes = 0;
  char name[256] = {};
};

/// The first index that a kernel would not follow since the last time it was asked (KV_DEBUG_BOUNDS).
struct CudaBoundsReport {
  int64_t violations = -1;  ///< -1: this build does not check
  char text[256] = {};      ///< kernel, block, thread, value and bound of the first
};

/// The arithmetic "cuda-fast" (fast.h).
struct CudaFast {
  void* fast = nullptr;  ///< the opened library
  char why[256] = {};    ///< reason why "cuda-fast" is not available: a part of a sentence; else empty
};

struct CudaApi {
  uint32_t version = 0;
  CudaDevice (*probe)(int32_t ordinal) = nullptr;  ///< starts nothing on the device and takes no memory there
  const char* (*errorText)(int32_t error) = nullptr;

  int32_t (*memory)(int64_t* freeBytes, int64_t* allBytes) = nullptr;
  int32_t (*allocate)(int64_t bytes, void** out) = nullptr;
  int32_t (*release)(void* memory) = nullptr;
  int32_t (*upload)(void* stream, void* to, const void* from, int64_t bytes) = nullptr;
  int32_t (*download)(void* stream, void* to, const void* from, int64_t bytes) = nullptr;
  int32_t (*synchronise)(void* stream) = nullptr;
  int32_t (*openStream)(void** stream) = nullptr;  ///< does not wait for the default one
  int32_t (*closeStream)(void* stream) = nullptr;
  int32_t (*allocatePinned)(int64_t bytes, void** out) = nullptr;  ///< page-locked host memory
  int32_t (*releasePinned)(void* memory) = nullptr;
  int32_t (*clear)(void* stream, void* at, int64_t bytes) = nullptr;
  int32_t (*beginCapture)(void* stream) = nullptr;  ///< later calls are recorded and do not run
  int32_t (*endCapture)(void* stream, void** graph, int64_t* nodes) = nullptr;  ///< nodes: kernels and copies in it
  int32_t (*launchGraph)(void* stream, void* graph) = nullptr;
  int32_t (*releaseGraph)(void* graph) = nullptr;
  int32_t (*makeEvent)(void** event) = nullptr;
  int32_t (*releaseEvent)(void* event) = nullptr;
  int32_t (*recordEvent)(void* stream, void* event) = nullptr;
  int32_t (*waitFor)(void* stream, void* event) = nullptr;  ///< the stream waits, not the host
  int32_t (*idle)(void* stream, bool* out) = nullptr;       ///< true if all its work is done; does not wait
  int32_t (*eventTime)(void* begin, void* end, float* milliseconds) = nullptr;  ///< both have passed

  int64_t (*attentionScratchBytes)(const AttentionArgs&) = nullptr;
  void (*findFast)(CudaFast* out) = nullptr;  ///< only `why`; starts nothing on the device
  void (*openFast)(CudaFast* out) = nullptr;
  void (*closeFast)(void* fast) = nullptr;
  int64_t (*fastScratchBytes)(const LinearArgs&) = nullptr;
  int32_t (*linearFast)(void* stream, void* fast, const LinearArgs&,
                        void* scratch) = nullptr;                          ///< scratch from a border of 256
  int32_t (*attentionFast)(void* stream, const AttentionArgs&) = nullptr;  ///< scratch as attention's
  int32_t (*takeBoundsReport)(CudaBoundsReport* out) = nullptr;            ///< waits for the device
#define KVLAB_OP(name, Args) int32_t (*name)(void* stream, const Args&) = nullptr;
#include "kernels/ops/ops.inc"
#undef KVLAB_OP
};

/// Raised if a field changes its meaning and no size, name or layout of a record shows the change.
inline constexpr uint64_t kCudaApiRevision = 9;

/// Equal in program and module where both agree on names, sizes and order of everything that passes between them.
constexpr uint32_t cudaApiVersion() {
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto mix = [&hash](uint64_t x) { hash = (hash ^ x) * 0x100000001b3ull, hash ^= hash >> 29; };
  mix(kCudaApiRevision);
  for (const uint64_t size :
       {sizeof(CudaApi), sizeof(CudaDevice), sizeof(CudaBoundsReport), sizeof(RowMove), sizeof(PoolView),
        sizeof(RowFormat), sizeof(TensorStats), sizeof(WriteRowsStats), sizeof(LinearPart)})
    mix(size);
#define KVLAB_OP(name, Args)                                           \
  for (const char* c = #name; *c; ++c) mix(static_cast<uint64_t>(*c)); \
  mix(sizeof(Args)), mix(alignof(Args));
#include "kernels/ops/ops.inc"
#undef KVLAB_OP
  for (const DType t : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::fp8e4m3}) {
    const RowLayout o = rowLayout({3, 24, t, t});
    for (const int64_t at : {o.k, o.v, o.kScales, o.vScales, o.tag, o.checksum, o.stride})
      mix(static_cast<uint64_t>(at));
  }
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}
inline constexpr uint32_t kCudaApiVersion = cudaApiVersion();

}  // namespace kvlab::kernels

extern "C" const kvlab::kernels::CudaApi* kvlab_cuda_api();
