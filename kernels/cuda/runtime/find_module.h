// SPDX-License-Identifier: Apache-2.0
// Finds and opens the CUDA module, and says in one sentence why CUDA is not used. Opening takes some milliseconds,
// asking a device takes longer; the caller keeps the answer. Any thread, one at a time.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
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

/// True if it spoils all later work of the process on the device.
bool cudaErrorStays(int32_t error);

/// "NVIDIA H200, compute capability 9.0, 139.8 GiB".
std::string cudaDeviceText(const CudaDevice& device);

/// The module's functions for one device. Any thread may call: each call takes the device for its thread first.
class CudaCalls {
 public:
  CudaCalls(const CudaApi& api, int32_t ordinal) : m_api(&api), m_ordinal(ordinal) {}

  const CudaApi& api() const { return *m_api; }
  int32_t ordinal() const { return m_ordinal; }

  /// The result of the function; where the device is not to be had, that error, or nothing.
  template <class R, class... P, class... A>
  R operator()(R (*CudaApi::*function)(P...), A&&... args) const {
    if (const int32_t error = m_api->use(m_ordinal)) {
      if constexpr (std::is_same_v<R, int32_t>) return error;
      else return R();
    }
    return (m_api->*function)(std::forward<A>(args)...);
  }

 private:
  const CudaApi* m_api;
  int32_t m_ordinal;
};

/// What is known of a device. An answer about no device has the reason why there is none.
struct CudaAnswer {
  const CudaApi* api = nullptr;
  CudaDevice device = {};  ///< `error` also of the trial
  std::string why = {};    ///< reason against it; empty if nothing is known
  int32_t ordinal = 0;
  bool computes = false;  ///< it has computed a product, for which CUDA takes memory there until the program ends
};

/// The devices that are asked to compute; others are only looked at.
enum class CudaTrial : uint8_t { none, untilOneComputes, each };

CudaAnswer askForDevice(int32_t ordinal, bool compute, const std::vector<std::string>& paths = cudaModulePaths());
/// All devices in CUDA's order, or one answer about none.
std::vector<CudaAnswer> askForDevices(CudaTrial trial, const std::vector<std::string>& paths = cudaModulePaths());
/// The first device that computes. If there is none: the first one, with the reasons of all.
CudaAnswer askForCuda(const std::vector<std::string>& paths = cudaModulePaths());

}  // namespace kvlab::kernels
