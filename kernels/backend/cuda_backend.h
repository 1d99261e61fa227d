// SPDX-License-Identifier: Apache-2.0
// The back end that works on a CUDA device, through the module (find_module.h). Host code: the program
// links nothing of CUDA.
#pragma once

#include "kernels/backend/backend.h"

namespace kvlab::kernels {

/// The first device, with a stream of its own. `numerics`: "cuda-det", the default, or "cuda-fast".
BackendAnswer makeCudaBackend(const std::string& numerics);

/// The numerics ids of the CUDA back end: "cuda-det" and "cuda-fast".
std::vector<std::string> cudaNumericsIds();
/// The same ids with the reason why one cannot be had here. Needs no device; some ten milliseconds.
std::vector<NumericsAnswer> cudaNumerics();

}  // namespace kvlab::kernels
