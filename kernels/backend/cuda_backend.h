// SPDX-License-Identifier: Apache-2.0
// The back end that works on a CUDA device, through the module (find_module.h). Host code: the program
// links nothing of CUDA.
#pragma once

#include "kernels/backend/backend.h"

namespace kvlab::kernels {

/// The first device, with a stream of its own.
BackendAnswer makeCudaBackend();

}  // namespace kvlab::kernels
