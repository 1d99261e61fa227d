// SPDX-License-Identifier: Apache-2.0
// One line of calls on a CUDA device: its stream, its first failure, and what brings it in order with another line.
// Belongs to a back end, whose rules for threads hold.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "kernels/backend/backend.h"
#include "kernels/cuda/runtime/module_api.h"

namespace kvlab::kernels {

inline constexpr int32_t kCudaOutOfMemory = 2;  // cudaErrorMemoryAllocation

/// What the ops of one back end share: Context::device.
struct CudaLine {
  const CudaApi& api;
  Arena& arena;
  void* stream = nullptr;
  void* fast = nullptr;  ///< with "cuda-fast"
  std::optional<BackendFailure> failure = {};
  void* beside = nullptr;  ///< stream of calls that calls here do not come after yet
  void* mark = nullptr;    ///< event that brings streams in order

  /// Notes an error; true if there was none, now or before.
  bool check(int32_t error, const char* doing) {
    if (failure) return false;
    if (error == 0) return true;
    failure = BackendFailure{
        error == kCudaOutOfMemory,
        std::string(doing) + ": " + api.errorText(error) + " (CUDA error " + std::to_string(error) + ")"};
    return false;
  }

  /// What follows on the stream `later` comes after what has been called on `first`.
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
