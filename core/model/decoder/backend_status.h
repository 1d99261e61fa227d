// SPDX-License-Identifier: Apache-2.0
// A back end's failure as an error of the core.
#pragma once
#include <string>

#include "core/api/error.h"
#include "kernels/backend/backend.h"

namespace kvlab {

/// ok(), or the failure since the last call. `what` is the operation that was under way: "the forward pass".
/// Codes: out_of_memory, device.
Status backendStatus(kernels::Backend& backend, const std::string& what);

}  // namespace kvlab
