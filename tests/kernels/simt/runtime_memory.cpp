// SPDX-License-Identifier: Apache-2.0
// Devices, errors, memory and copies of the emulated runtime.
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "launch_limits.h"
#include "runtime.h"

using kvlab::simt::DeviceMemory;
using kvlab::simt::OnDevice;
using kvlab::simt::runtime;

namespace {

constexpr int kVersion = 13000;

bool hostSide(const void* at) { return !runtime().memory.touches(at); }

bool sidesFit(const void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const auto device = [&](const void* at) { return runtime().memory.holds(at, bytes); };
  switch (kind) {
    case cudaMemcpyHostToHost: return hostSide(to) && hostSide(from);
    case cudaMemcpyHostToDevice: return device(to) && hostSide(from);
    case cudaMemcpyDeviceToHost: return hostSide(to) && device(from);
    case cudaMemcpyDeviceToDevice: return device(to) && device(from);
    default: return (hostSide(to) || device(to)) && (hostSide(from) || device(from));
  }
}

cudaError_t bad(const char* what, const void* at, size_t bytes) {
  fprintf(stderr, "emulated device: %s at %p, %zu bytes: not the memory that the call names\n", what, at, bytes);
  return runtime().remember(cudaErrorInvalidValue);
}

}  // namespace

cudaError_t cudaRuntimeGetVersion(int* out) {
  *out = kVersion;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* out) { return cudaRuntimeGetVersion(out); }
cudaError_t cudaGetDeviceCount(int* out) {
  *out = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* out) {
  *out = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : runtime().remember(cudaErrorInvalidDevice); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
  if (device != 0) return runtime().remember(cudaErrorInvalidDevice);
  const kvlab::simt::DeviceProfile& d = kvlab::simt::deviceProfile();
  *out = {};
  snprintf(out->name, sizeof out->name, "%s", d.card);
  out->totalGlobalMem = runtime().memory.budget();
  out->sharedMemPerBlock = kvlab::simt::kSharedUnasked;
  out->sharedMemPerBlockOptin = static_cast<size_t>(d.sharedOfBlock());
  out->sharedMemPerMultiprocessor = static_cast<size_t>(d.sharedOfMultiprocessor());
  out->reservedSharedMemPerBlock = static_cast<size_t>(d.reservedShared());
  out->major = d.capability / 10;
  out->minor = d.capability % 10;
  out->multiProcessorCount = d.multiprocessors;
  out->warpSize = warpSize;
  out->l2CacheSize = d.cacheKib * 1024;
  out->maxThreadsPerBlock = kvlab::simt::kThreadsOfBlock;
  out->maxThreadsPerMultiProcessor = d.threads;
  out->maxBlocksPerMultiProcessor = d.blocks;
  out->regsPerBlock = out->regsPerMultiprocessor = kvlab::simt::kRegisters;
  out->maxGridSize[0] = kvlab::simt::kGridX;
  out->maxGridSize[1] = out->maxGridSize[2] = kvlab::simt::kGridYZ;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (const cudaError_t e = cudaGetDeviceProperties(&p, device); e != cudaSuccess) return e;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *out = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxGridDimX: *out = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *out = p.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *out = p.maxGridSize[2]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *out = static_cast<int>(p.sharedMemPerBlock); break;
    case cudaDevAttrMaxRegistersPerBlock: *out = p.regsPerBlock; break;
    case cudaDevAttrMemoryClockRate:
    case cudaDevAttrGlobalMemoryBusWidth: *out = 0; break;  // unknown
    case cudaDevAttrMultiProcessorCount: *out = p.multiProcessorCount; break;
    case cudaDevAttrL2CacheSize: *out = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *out = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *out = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *out = p.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *out = static_cast<int>(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *out = p.regsPerMultiprocessor; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *out = static_cast<int>(p.sharedMemPerBlockOptin); break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *out = p.maxBlocksPerMultiProcessor; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *out = static_cast<int>(p.reservedSharedMemPerBlock); break;
  }
  return cudaSuccess;
}

cudaError_t cudaPeekAtLastError() { return runtime().last; }
cudaError_t cudaGetLastError() { return std::exchange(runtime().last, cudaSuccess); }

const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidDeviceFunction: return "invalid device function";
    case cudaErrorNoKernelImageForDevice: return "no kernel image is available for execution on the device";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure: return runtime().failure.c_str();
    case cudaErrorNotSupported: return "operation not supported";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureMerge: return "operation would result in a merge of separate capture sequences";
    case cudaErrorStreamCaptureUnmatched: return "capture was not ended in the same stream as it began";
    case cudaErrorStreamCaptureUnjoined: return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation: return "dependency created on uncaptured work in another stream";
    case cudaErrorStreamCaptureImplicit: return "operation would make the legacy stream depend on a capturing stream";
    case cudaErrorCapturedEvent: return "operation not permitted on an event last recorded in a capturing stream";
    case cudaErrorStreamCaptureWrongThread: return "attempt to end a thread-local capture from another thread";
    default: return "unknown error";
  }
}
const char* cudaGetErrorName(cudaError_t e) { return cudaGetErrorString(e); }

cudaError_t cudaMemGetInfo(size_t* free, size_t* all) {
  const OnDevice on;
  *all = runtime().memory.budget();
  *free = *all - runtime().memory.used();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** out, size_t bytes) {
  const OnDevice on;
  if (const cudaError_t e = runtime().callUnsafe(); e != cudaSuccess) return e;
  *out = bytes ? runtime().memory.allocate(bytes) : nullptr;
  return *out || !bytes ? cudaSuccess : runtime().remember(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* memory) {
  const OnDevice on;
  if (const cudaError_t e = runtime().callUnsafe(); e != cudaSuccess) return e;
  if (!memory || runtime().memory.release(memory)) return cudaSuccess;
  return bad("release", memory, 0);
}

cudaError_t cudaMallocHost(void** out, size_t bytes) {
  const OnDevice on;
  if (const cudaError_t e = runtime().callUnsafe(); e != cudaSuccess) return e;
  *out = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *out ? cudaSuccess : runtime().remember(cudaErrorMemoryAllocation);
}
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) { return cudaMallocHost(out, bytes); }
cudaError_t cudaFreeHost(void* memory) {
  const OnDevice on;
  if (const cudaError_t e = runtime().callUnsafe(); e != cudaSuccess) return e;
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }

cudaError_t cudaMemcpy2DAsync(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  const OnDevice on;
  if (width == 0 || height == 0) return cudaSuccess;
  if (!sidesFit(to, from, width, kind)) return bad("copy", to, width * height);
  const size_t lastTo = (height - 1) * toPitch, lastFrom = (height - 1) * fromPitch;
  if (!sidesFit(static_cast<char*>(to) + lastTo, static_cast<const char*>(from) + lastFrom, width, kind))
    return bad("copy", to, width * height);
  return runtime().add(stream, [=] {
    const DeviceMemory::Open open(runtime().memory);
    for (size_t i = 0; i < height; ++i)
      memcpy(static_cast<char*>(to) + i * toPitch, static_cast<const char*>(from) + i * fromPitch, width);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const OnDevice on;
  if (const cudaError_t e = runtime().callUnsafe(); e != cudaSuccess) return e;
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
  const OnDevice on;
  if (bytes == 0 || kvlab::simt::dry()) return cudaSuccess;
  if (!runtime().memory.holds(at, bytes)) return bad("memset", at, bytes);
  return runtime().add(stream, [=] {
    const DeviceMemory::Open open(runtime().memory);
    memset(at, value, bytes);
    return cudaSuccess;
  });
}
cudaError_t cudaMemset(void* at, int value, size_t bytes) { return cudaMemsetAsync(at, value, bytes, nullptr); }
