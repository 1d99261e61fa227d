// SPDX-License-Identifier: Apache-2.0
// One line of calls on a CUDA device: a stream, the first failure, and the events that order the line against another
// line. A back end owns the line; the back end's rules for threads hold.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "kernels/backend/backend.h"
#include "kernels/cuda/runtime/find_module.h"

namespace kvlab::kernels {

inline constexpr int32_t kCudaOutOfMemory = 2;  // cudaErrorMemoryAllocation

/// Shared by the ops of one back end: Context::device.
struct CudaLine {
  const CudaApi& api;
  Arena& arena;
  void* stream = nullptr;
  void* fast = nullptr;  ///< with "cuda-fast"
  std::optional<BackendFailure> failure = {};
  void* beside = nullptr;  ///< stream whose calls are not yet ordered before the calls here
  void* mark = nullptr;    ///< event that brings streams in order

  /// Notes an error; true if there was none, now or before.
  bool check(int32_t error, const char* doing) {
    if (failure) return false;
    if (error == 0) return true;
    failure = BackendFailure{error == kCudaOutOfMemory, cudaErrorSaid(doing, error, api.errorText(error))};
    return false;
  }

  /// Orders later calls on the stream `later` after all calls made on `first`.
  void order(void* first, void* later) {
    if (!mark) check(api.makeEvent(&mark), "streams were not brought in order");
    if (!failure) check(api.recordEvent(first, mark), "streams were not brought in order");
    if (!failure) check(api.waitFor(later, mark), "streams were not brought in order");
  }

  void settle() {
    if (beside) order(std::exchange(beside, nullptr), stream);
  }
};

}  // namespace kvlab::kernels
