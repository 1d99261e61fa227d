// SPDX-License-Identifier: Apache-2.0
// Checked indices, for builds with KV_DEBUG_BOUNDS: an index that a kernel reads from memory must name a row
// inside the allocation of its array. The first violation is kept with kernel, block, thread, value and bound; a
// bad write is left out, and a bad read goes to row 0. Without KV_DEBUG_BOUNDS every check is true and the compiler
// removes it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/runtime/module_api.h"

namespace kvlab::kernels::cuda {

enum class IndexKind : int32_t { slot, tokenId, phase, position };

#if defined(KV_DEBUG_BOUNDS)

struct BoundsReport {
  unsigned long long violations = 0;
  const char* kernel = nullptr;  ///< a name on the host
  IndexKind kind{};
  uint3 block{}, thread{};
  int64_t value = 0, bound = 0;
};

struct AllocationTable {
  static constexpr int kMost = 1 << 16;
  int64_t count = 0;
  struct {
    uintptr_t begin, end;
  } all[kMost];  ///< in ascending order
};

/// Indices below `limit`.
class Bound {
 public:
  __device__ Bound(BoundsReport* report, const char* kernel, IndexKind kind, int64_t limit)
      : m_report(report), m_kernel(kernel), m_kind(kind), m_limit(limit) {}
  __device__ bool holds(int64_t index) const {
    if (index >= 0 && index < m_limit) return true;
    if (atomicAdd(&m_report->violations, 1ull) == 0) {
      m_report->kernel = m_kernel;
      m_report->kind = m_kind;
      m_report->block = blockIdx;
      m_report->thread = threadIdx;
      m_report->value = index;
      m_report->bound = m_limit;
    }
    return false;
  }
  /// Rows [first, first + count).
  __device__ bool holds(int64_t first, int64_t count) const {
    return count <= 0 || (holds(first) && holds(first + count - 1));
  }
  template <class Index>
  __device__ Index orZero(Index index) const {
    return holds(index) ? index : Index{0};
  }

 private:
  BoundsReport* m_report;
  const char* m_kernel;
  IndexKind m_kind;
  int64_t m_limit;
};

/// The argument of a kernel, by value.
struct Bounds {
  BoundsReport* report = nullptr;
  const AllocationTable* table = nullptr;
  const char* kernel = nullptr;

  /// Bound of an array of rows at `base`.
  __device__ Bound of(IndexKind kind, const void* base, int64_t rowBytes) const {
    const auto at = reinterpret_cast<uintptr_t>(base);
    int64_t low = 0, high = table->count;  // the last allocation that begins at or before `at`
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (table->all[middle].begin <= at) low = middle + 1;
      else high = middle;
    }
    const uintptr_t end = low > 0 ? table->all[low - 1].end : 0;
    return upTo(kind, end > at ? static_cast<int64_t>(end - at) / rowBytes : 0);
  }
  __device__ Bound upTo(IndexKind kind, int64_t limit) const { return {report, kernel, kind, limit}; }
};

Bounds boundsFor(const char* kernel);
void noteAllocation(const void* memory, int64_t bytes);
void forgetAllocation(const void* memory);

#else

struct Bound {
  __device__ constexpr bool holds(int64_t) const { return true; }
  __device__ constexpr bool holds(int64_t, int64_t) const { return true; }
  template <class Index>
  __device__ constexpr Index orZero(Index index) const {
    return index;
  }
};

struct Bounds {
  __device__ constexpr Bound of(IndexKind, const void*, int64_t) const { return {}; }
  __device__ constexpr Bound upTo(IndexKind, int64_t) const { return {}; }
};

inline Bounds boundsFor(const char*) { return {}; }
inline void noteAllocation(const void*, int64_t) {}
inline void forgetAllocation(const void*) {}

#endif

/// module_api.h.
int32_t takeBoundsReport(CudaBoundsReport* out);

}  // namespace kvlab::kernels::cuda
