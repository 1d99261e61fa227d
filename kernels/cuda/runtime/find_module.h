// SPDX-License-Identifier: Apache-2.0
// Finds and opens the CUDA module, and says in one sentence why CUDA is not used. Opening takes some milliseconds,
// asking a device takes longer; the caller keeps the answer. Any thread, one at a time.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/runtime/module_api.h"

namespace kvlab::kernels {

/// An opened module stays open until the program ends.
struct CudaModule {
  const CudaApi* api = nullptr;
  std::string why;  ///< the reason if api is null
};

/// Places where the module is looked for: $KVLAB_CUDA_MODULE alone if that is set, otherwise beside
/// the program and in ../lib/kvlab from there.
std::vector<std::string> cudaModulePaths();

/// If no file is there, the reason ends with the first line of a text file of the same name (kvlab_cuda.txt), in which
/// the build says why.
CudaModule openCudaModule(const std::vector<std::string>& paths);

/// The reason why this device cannot be used: no driver, driver too old, no device, no kernels for it, anything else.
/// Empty if it can.
std::string cudaRefusal(const CudaDevice& device, const std::string& errorText);

/// "DOING: out of memory (CUDA error 2)", with a remedy if the error stays until the process ends.
std::string cudaErrorSaid(const std::string& doing, int32_t error, const std::string& errorText);

/// True if a driver is installed, unless it reports that it sees no device.
bool cudaCardIsThere(const CudaDevice& device);

/// "NVIDIA H200, compute capability 9.0, 139.8 GiB".
std::string cudaDeviceText(const CudaDevice& device);

/// The module and its first device, which has computed a product; `why` is empty where both can be used.
struct CudaAnswer {
  const CudaApi* api = nullptr;
  CudaDevice device;  ///< `error` also of the trial
  std::string why;
};
CudaAnswer askForCuda(const std::vector<std::string>& paths = cudaModulePaths());

}  // namespace kvlab::kernels
