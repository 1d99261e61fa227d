// SPDX-License-Identifier: Apache-2.0
// The means that an op runs with. Passed by reference; a back end or the caller owns it.
#pragma once

namespace kvlab::kernels {

class ThreadPool;
class OpLog;

struct Context {
  ThreadPool* pool = nullptr;  ///< required by the CPU ops; ThreadPool(1) for a single thread
  void* device = nullptr;      ///< an accelerator back end's own; the CPU ignores it
  OpLog* log = nullptr;        ///< for logged tables (backend/op_log.h); the others ignore it
};

}  // namespace kvlab::kernels
