// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/backend_status.h"

namespace kvlab {

Status backendStatus(kernels::Backend& backend, const std::string& what) {
  const std::optional<kernels::BackendFailure> failure = backend.takeFailure();
  if (!failure) return ok();
  if (failure->outOfMemory)
    return Error("out_of_memory", what + " failed", failure->why,
                 "lower capacity, history_bytes or prefill_chunk in the manifest");
  return Error("device", what + " failed", failure->why,
               failure->forGood ? "save the ids, restart the program, or open the session with --backend cpu"
                                : "open the session again, or with --backend cpu");
}

}  // namespace kvlab
