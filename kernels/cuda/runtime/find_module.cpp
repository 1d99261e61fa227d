// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/find_module.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

namespace kvlab::kernels {
namespace {

constexpr const char *kFile = "kvlab_cuda.so", *kBuildHere = "build kvlab on this machine (app/run)";

// Result codes of a device; the numbers are fixed by CUDA's interface.
constexpr int32_t kNoDriver = 35, kStubDriver = 34, kNoDevice = 100, kNoSuchDevice = 101, kOutOfMemory = 2,
                  kOtherDriver = 803, kTaken = 46, kNoFunction = 98, kNoImage = 209, kNewerPtx = 222, kNoCompiler = 221,
                  kMayNotCompile = 223;

std::string versionText(int32_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string capability(const CudaDevice& device) {
  return std::to_string(device.major) + "." + std::to_string(device.minor);
}

std::string gibibytes(int64_t bytes) {
  char text[32];
  snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / (1ll << 30));
  return text;
}

/// What the build says about a module that is not there (cuda.cmake, app/cuda.sh), or nothing.
std::string buildNote(const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (std::ifstream file(std::filesystem::path(path).replace_extension(".txt")); file)
      if (std::string line; std::getline(file, line) && !line.empty()) return ": " + line;
  return {};
}

// The trial: a device computes one product before anybody relies on it. Opens a stream and takes some memory of the
// device, and gives both back.

/// x alone takes more shared memory than the 48 KiB that a kernel gets without asking, and fits into 64 KiB.
constexpr int64_t kDepth = 12'800, kOutputs = 4;

/// x [kDepth], w [kOutputs, kDepth], y [kOutputs]. Whole numbers, so small that every sum is exact in any order.
struct Product {
  std::vector<float> values, want;

  Product() {
    for (int64_t i = 0; i < kDepth * (1 + kOutputs); ++i) values.push_back(static_cast<float>(i * 7 % 17 - 8));
    for (int64_t n = 0; n < kOutputs; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < kDepth; ++k) sum += x()[k] * w()[n * kDepth + k];
      want.push_back(sum);
    }
    values.resize(values.size() + kOutputs, std::numeric_limits<float>::quiet_NaN());
  }
  const float* x() const { return values.data(); }
  const float* w() const { return values.data() + kDepth; }
  float* y() { return values.data() + kDepth * (1 + kOutputs); }
  int64_t bytes() const { return static_cast<int64_t>(values.size() * sizeof(float)); }
};

/// Lets the device compute y. Calls until the first error, and returns it.
int32_t compute(const CudaCalls& device, Product& p) {
  void *stream = nullptr, *memory = nullptr;
  int32_t error = device(&CudaApi::openStream, &stream);
  const auto then = [&error](const auto& call) {
    if (error == 0) error = call();
  };
  then([&] { return device(&CudaApi::allocate, p.bytes(), &memory); });
  then([&] { return device(&CudaApi::upload, stream, memory, p.values.data(), p.bytes()); });
  then([&] {
    auto* at = static_cast<float*>(memory);
    float* y = at + (p.y() - p.x());
    LinearArgs a{.x = at, .m = 1, .nParts = 1};
    a.parts[0] = {{at + kDepth, DType::f32, nullptr, kOutputs, kDepth}, nullptr, y};
    const int32_t failed = device(&CudaApi::linear, stream, a);
    return failed ? failed : device(&CudaApi::download, stream, p.y(), y, kOutputs * 4);
  });
  const int32_t stopped = stream ? device(&CudaApi::synchronise, stream) : 0;  // also before the host's memory goes
  if (memory) device(&CudaApi::release, memory);
  if (stream) device(&CudaApi::closeStream, stream);
  return error ? error : stopped;
}

/// Notes the first CUDA error, or the fault of a result: a sentence without a full stop.
void tryDevice(CudaAnswer& answer) {
  Product p;
  answer.device.error = compute({*answer.api, answer.ordinal}, p);
  for (int64_t n = 0; answer.device.error == 0 && n < kOutputs; ++n) {
    const float got = p.y()[n], want = p.want[static_cast<size_t>(n)];
    if (got == want) continue;
    char why[120];
    snprintf(why, sizeof why, "the device computes wrongly: a sum of whole numbers is %g there instead of %g",
             static_cast<double>(got), static_cast<double>(want));
    answer.why = why;
    return;
  }
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
  return {nullptr, "there is no CUDA module (" + std::string(kFile) + ") beside the program" + buildNote(paths)};
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
    case kNoSuchDevice:
      return device.devices == 1 ? "the driver sees one CUDA device, cuda:0"
                                 : "the driver sees " + std::to_string(device.devices) +
              " CUDA devices, cuda:0 to cuda:" + std::to_string(device.devices - 1);
    case kOutOfMemory: return "the device has no memory left to start on";
    case kOtherDriver: return "the NVIDIA driver and its library are of different versions; restart the machine";
    case kTaken: return "another program has the device for itself";
    case kNewerPtx:
      return "the NVIDIA driver is too old: it knows CUDA " + versionText(device.driver) +
          ", and compiles no kernels of CUDA " + versionText(device.runtime) + "; update the driver or " + kBuildHere;
    case kNoFunction:
    case kNoImage:
    case kNoCompiler:
    case kMayNotCompile:
      return "the module has no kernels for " + std::string(device.name) + ", compute capability " +
          capability(device) + " (" + errorText + "); " + kBuildHere;
    default:
      return cudaErrorSaid(cudaErrorStays(device.error)
                               ? "an earlier failure has ended the program's work on the device"
                               : "the device does not answer",
                           device.error, errorText);
  }
}

std::string cudaErrorSaid(const std::string& doing, int32_t error, const std::string& errorText) {
  return doing + ": " + errorText + " (CUDA error " + std::to_string(error) + ")" +
      (cudaErrorStays(error) ? "; restart the program to use CUDA again" : "");
}

bool cudaErrorStays(int32_t error) {
  constexpr int32_t kStaying[] = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721};
  return std::find(std::begin(kStaying), std::end(kStaying), error) != std::end(kStaying);
}

bool cudaCardIsThere(const CudaDevice& device) {
  return device.driver > 0 && device.error != kNoDevice && device.error != kStubDriver;
}

std::string cudaDeviceText(const CudaDevice& device) {
  return std::string(device.name) + ", compute capability " + capability(device) + ", " +
      gibibytes(device.memoryBytes) + " GiB";
}

CudaAnswer askForDevice(int32_t ordinal, bool compute, const std::vector<std::string>& paths) {
  const CudaModule module = openCudaModule(paths);
  if (!module.api) return {.why = module.why, .ordinal = ordinal};
  CudaAnswer answer{.api = module.api, .device = module.api->probe(ordinal), .ordinal = ordinal};
  if (answer.device.error == 0 && compute) tryDevice(answer);
  if (const int32_t error = answer.device.error) answer.why = cudaRefusal(answer.device, module.api->errorText(error));
  answer.computes = compute && answer.why.empty();
  return answer;
}

std::vector<CudaAnswer> askForDevices(CudaTrial trial, const std::vector<std::string>& paths) {
  std::vector<CudaAnswer> all;
  bool compute = trial != CudaTrial::none;
  do {
    all.push_back(askForDevice(static_cast<int32_t>(all.size()), compute, paths));
    if (trial == CudaTrial::untilOneComputes && all.back().computes) compute = false;
  } while (static_cast<int32_t>(all.size()) < all[0].device.devices);
  return all;
}

CudaAnswer askForCuda(const std::vector<std::string>& paths) {
  std::vector<CudaAnswer> all = askForDevices(CudaTrial::untilOneComputes, paths);
  const auto found = std::find_if(all.begin(), all.end(), [](const CudaAnswer& one) { return one.computes; });
  if (found != all.end()) return *found;
  if (all.size() == 1) return all[0];
  std::string whys;
  for (const CudaAnswer& one : all)
    whys += (whys.empty() ? "cuda:" : "; cuda:") + std::to_string(one.ordinal) + ": " + one.why;
  all[0].why = whys;
  return all[0];
}

}  // namespace kvlab::kernels
