// SPDX-License-Identifier: Apache-2.0
// Devices for the tests of the CUDA module: the emulated one always, the real one where there is one.
#pragma once

#include <QtTest>

#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/cuda/runtime/find_module.h"

namespace kvlab::kernels::test {

/// The module as the build made it, unless the environment names another.
inline std::vector<std::string> builtModule() {
  std::vector<std::string> paths = cudaModulePaths();
  paths.push_back(KVLAB_CUDA_FILE);
  return paths;
}

/// The file of the emulated device; empty if there is none, or if KVLAB_REAL_DEVICE asks for the real one alone.
inline std::string emulatedModule() {
  return qEnvironmentVariableIsSet("KVLAB_REAL_DEVICE") ? "" : KVLAB_CUDA_EMULATED_FILE;
}

/// A device that can run kernels here, and the order of its threads.
struct TestDevice {
  const CudaApi* api = nullptr;
  std::string name;
  uint64_t seed = 0;  ///< seed of the emulated device; 0 is ascending order
};

inline std::vector<TestDevice> testDevices(const std::vector<uint64_t>& seeds = {0, 1}) {
  std::vector<TestDevice> all;
  if (const std::string file = emulatedModule(); !file.empty()) {
    const CudaAnswer emulated = askForCuda({file});
    if (!emulated.why.empty()) qFatal("%s", emulated.why.c_str());
    for (const uint64_t seed : seeds) all.push_back({emulated.api, "emulated, order " + std::to_string(seed), seed});
  }
  if (const CudaAnswer real = askForCuda(builtModule()); real.why.empty())
    all.push_back({real.api, cudaDeviceText(real.device)});
  return all;
}

/// Memory of the device with a copy of the argument; freed at the end. Chooses the order of threads.
class Device {
 public:
  explicit Device(const TestDevice& device) : m_api(*device.api) {
    setenv("KVLAB_SIMT_SEED", std::to_string(device.seed).c_str(), 1);
  }
  ~Device() {
    for (void* one : m_memory) m_api.release(one);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void* room(size_t bytes) {
    void* at = nullptr;
    if (bytes == 0) return at;
    check(m_api.allocate(static_cast<int64_t>(bytes), &at));
    m_memory.push_back(at);
    return at;
  }
  template <class T>
  T* copy(const T* from, size_t count) {
    void* at = room(count * sizeof(T));
    if (at) check(m_api.upload(nullptr, at, from, static_cast<int64_t>(count * sizeof(T))));
    return static_cast<T*>(at);
  }
  template <class T>
  T* copy(const std::vector<T>& from) {
    return copy(from.data(), from.size());
  }
  template <class T>
  void fetch(std::vector<T>& to, const void* from) {
    check(m_api.download(nullptr, to.data(), from, static_cast<int64_t>(to.size() * sizeof(T))));
    check(m_api.synchronise(nullptr));
  }
  void check(int32_t error) {
    if (error) qFatal("CUDA: %s", m_api.errorText(error));
  }

 private:
  const CudaApi& m_api;
  std::vector<void*> m_memory;
};

}  // namespace kvlab::kernels::test
