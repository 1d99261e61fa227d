// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/find_module.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace kvlab::kernels {
namespace {

constexpr const char* kFile = "kvlab_cuda.so";

// What cudaGetDeviceCount answers; the numbers are fixed by CUDA's interface.
constexpr int32_t kNoDriver = 35, kStubDriver = 34, kNoDevice = 100, kOutOfMemory = 2, kOtherDriver = 803;

std::string versionText(int32_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string gibibytes(int64_t bytes) {
  char text[32];
  snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / (1ll << 30));
  return text;
}

}  // namespace

std::vector<std::string> cudaModulePaths() {
  if (const char* given = std::getenv("KVLAB_CUDA_MODULE")) return {given};
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  if (none) return {};
  const auto folder = program.parent_path();
  return {(folder / kFile).string(), (folder.parent_path() / "lib" / "kvlab" / kFile).string()};
}

CudaModule openCudaModule(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code none;
    if (!std::filesystem::exists(path, none)) continue;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return {nullptr, std::string("the CUDA module could not be loaded: ") + dlerror()};
    using Entry = const CudaApi* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(library, "kvlab_cuda_api"));
    const CudaApi* api = entry ? entry() : nullptr;
    if (api && api->version == kCudaApiVersion) return {api, {}};
    dlclose(library);
    if (!entry) return {nullptr, path + " is not a CUDA module of kvlab"};
    return {nullptr, path + " belongs to another version of kvlab"};
  }
  return {nullptr, "there is no CUDA module (" + std::string(kFile) + ") beside the program"};
}

std::string cudaRefusal(const CudaDevice& device, const std::string& errorText) {
  const bool old = device.error == kNoDriver && device.driver > 0;
  if (old)
    return "the NVIDIA driver is too old: it knows CUDA " + versionText(device.driver) + ", the module needs " +
        versionText(device.runtime);
  switch (device.error) {
    case 0: return {};
    case kNoDriver:
    case kStubDriver: return "no NVIDIA driver is installed";
    case kNoDevice: return "the driver sees no CUDA device";
    case kOutOfMemory: return "the device has no memory left to start on";
    case kOtherDriver: return "the NVIDIA driver and its library are of different versions; restart the machine";
    default: return "the device does not answer: " + errorText + " (CUDA error " + std::to_string(device.error) + ")";
  }
}

std::string cudaDeviceText(const CudaDevice& device) {
  return std::string(device.name) + ", compute capability " + std::to_string(device.major) + "." +
      std::to_string(device.minor) + ", " + gibibytes(device.memoryBytes) + " GiB";
}

CudaAnswer askForCuda(const std::vector<std::string>& paths) {
  const CudaModule module = openCudaModule(paths);
  if (!module.api) return {nullptr, {}, module.why};
  const CudaDevice device = module.api->probe(0);
  return {module.api, device, cudaRefusal(device, module.api->errorText(device.error))};
}

}  // namespace kvlab::kernels
