// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/backend.h"
#include "kernels/backend/cuda_backend.h"

namespace kvlab::kernels {

BackendAnswer openBackend(const std::string& id, int threads) {
  BackendAnswer answer;
  if (id != "cpu") answer = makeCudaBackend();
  if (!answer.backend && id != "cuda") answer = {makeCpuBackend(threads), {}};
  return answer;
}

}  // namespace kvlab::kernels
