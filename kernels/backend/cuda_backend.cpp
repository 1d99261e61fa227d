// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/cuda_backend.h"

#include "kernels/cuda/find_module.h"

namespace kvlab::kernels {

BackendAnswer makeCudaBackend() {
  const CudaAnswer cuda = askForCuda();
  return {nullptr, cuda.why.empty() ? "this version computes on the CPU only" : cuda.why};
}

}  // namespace kvlab::kernels
