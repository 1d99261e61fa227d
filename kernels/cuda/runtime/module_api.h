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
  int64_t memoryBytes = 0;
  int64_t bytesPerSecond = 0;  ///< peak of its memory, by clock and width of the bus; 0 = unknown
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
#define KVLAB_CALL(Result, name, Arguments) Result(*name) Arguments = nullptr;
#include "kernels/cuda/runtime/module_calls.inc"
#undef KVLAB_CALL
#define KVLAB_OP(name, Args) int32_t (*name)(void* stream, const Args&) = nullptr;
#include "kernels/ops/ops.inc"
#undef KVLAB_OP
};

/// Raised if a field changes its meaning and no size, name or layout of a record shows the change.
inline constexpr uint64_t kCudaApiRevision = 10;

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
