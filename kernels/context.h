// SPDX-License-Identifier: Apache-2.0
// What an op runs on. Passed by reference, owned by the caller.
#pragma once

namespace kvlab::kernels {

class ThreadPool;

struct Context {
  ThreadPool* pool = nullptr;  ///< required by the CPU ops; ThreadPool(1) for a single thread
  void* stream = nullptr;      ///< device stream of an accelerator back end; the CPU ignores it
};

}  // namespace kvlab::kernels
