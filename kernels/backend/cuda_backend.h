// SPDX-License-Identifier: Apache-2.0
// The back end that works on a CUDA device, through the module (find_module.h). Host code: the program
// links nothing of CUDA.
#pragma once

#include "kernels/backend/backend.h"

namespace kvlab::kernels {

/// The first device, with a stream of its own. `numerics`: "cuda-det", the default, or "cuda-fast".
BackendAnswer makeCudaBackend(const std::string& numerics);

/// The ids of those two.
std::vector<std::string> cudaNumericsIds();
/// What opening the module and cuBLASLt finds out about them, without a device; some ten milliseconds.
std::vector<NumericsAnswer> cudaNumerics();

}  // namespace kvlab::kernels
