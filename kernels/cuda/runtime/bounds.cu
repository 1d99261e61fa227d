// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/bounds.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>

namespace kvlab::kernels::cuda {

#if defined(KV_DEBUG_BOUNDS)

namespace {

/// The module hands out a device's memory for all of its callers, so there is one record of it for each device.
struct Known {
  std::map<uintptr_t, uintptr_t> allocations;
  std::unique_ptr<AllocationTable> host = nullptr;
  AllocationTable* table = nullptr;  ///< on the device, as the report
  BoundsReport* report = nullptr;

  void upload() {
    if (!table && !start()) return;
    host->count = 0;
    for (const auto& [begin, end] : allocations) {
      if (host->count == AllocationTable::kMost) break;
      host->all[host->count] = {begin, end};
      ++host->count;
    }
    cudaDeviceSynchronize();  // kernels under way read the table
    cudaMemcpy(table, host.get(),
               offsetof(AllocationTable, all) + static_cast<size_t>(host->count) * sizeof host->all[0],
               cudaMemcpyHostToDevice);
  }

 private:
  bool start() {
    void *a = nullptr, *b = nullptr;
    if (cudaMalloc(&a, sizeof(AllocationTable)) != cudaSuccess || cudaMalloc(&b, sizeof(BoundsReport)) != cudaSuccess)
      return false;
    host = std::make_unique<AllocationTable>();
    table = static_cast<AllocationTable*>(a);
    report = static_cast<BoundsReport*>(b);
    return cudaMemset(report, 0, sizeof *report) == cudaSuccess;
  }
};

/// Of the device in use; devices whose numbers are 64 apart share one.
Known& known() {
  static std::array<Known, 64> all;
  int device = 0;
  cudaGetDevice(&device);
  return all[static_cast<size_t>(device) % all.size()];
}

const char* nameOf(IndexKind kind) {
  switch (kind) {
    case IndexKind::slot: return "slot";
    case IndexKind::tokenId: return "token id";
    case IndexKind::phase: return "phase";
    case IndexKind::position: return "position";
  }
  return "index";
}

}  // namespace

Bounds boundsFor(const char* kernel) { return {known().report, known().table, kernel}; }

void noteAllocation(const void* memory, int64_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(memory);
  if (!memory) return;
  known().allocations[at] = at + static_cast<uintptr_t>(bytes);
  known().upload();
}

void forgetAllocation(const void* memory) {
  if (known().allocations.erase(reinterpret_cast<uintptr_t>(memory)) > 0) known().upload();
}

int32_t takeBoundsReport(CudaBoundsReport* out) {
  *out = {};
  out->violations = 0;
  if (!known().report) return cudaSuccess;
  BoundsReport r;
  if (const cudaError_t e = cudaDeviceSynchronize(); e != cudaSuccess) return e;
  if (const cudaError_t e = cudaMemcpy(&r, known().report, sizeof r, cudaMemcpyDeviceToHost); e != cudaSuccess)
    return e;
  out->violations = static_cast<int64_t>(r.violations);
  if (r.violations == 0) return cudaSuccess;
  snprintf(out->text, sizeof out->text, "%s, block %u, %u, %u, thread %u, %u, %u: %s %lld is outside of [0, %lld)",
           r.kernel, r.block.x, r.block.y, r.block.z, r.thread.x, r.thread.y, r.thread.z, nameOf(r.kind),
           static_cast<long long>(r.value), static_cast<long long>(r.bound));
  return cudaMemset(known().report, 0, sizeof r);
}

#else

int32_t takeBoundsReport(CudaBoundsReport* out) {
  *out = {};
  return cudaSuccess;
}

#endif

}  // namespace kvlab::kernels::cuda
