// SPDX-License-Identifier: Apache-2.0
// One description of an op call that runs on the CPU or on a device, so that the two can be compared.
#pragma once

#include <functional>
#include <memory>

#include "cuda_fixture.h"
#include "kernels/ops/op_table.h"
#include "kernels/thread_pool.h"
#include "support.h"

namespace kvlab::kernels::test {

/// The outputs of a call.
struct Output {
  std::vector<uint8_t> bytes;
  bool floats = false;  ///< NaN equals NaN
};

/// Hands out memory for arguments, runs ops, collects outputs. Without a device it is the CPU.
class Rig {
 public:
  explicit Rig(const TestDevice* on) : m_on(on) {
    if (on) m_device = std::make_unique<Device>(*on);
  }

  template <class T>
  T* in(const std::vector<T>& values) {
    if (m_device) return m_device->copy(values);
    return static_cast<T*>(keep(values.data(), values.size() * sizeof(T)));
  }
  /// Bytes at an address that is `shift` behind a border.
  uint8_t* inShifted(std::vector<uint8_t> bytes, size_t shift) {
    bytes.insert(bytes.begin(), shift, uint8_t{0xee});
    return in(bytes) + shift;
  }
  /// An output that starts with these values.
  template <class T>
  T* inOut(const std::vector<T>& values) {
    T* at = in(values);
    m_outputs.push_back({at, values.size() * sizeof(T), std::is_same_v<T, float>});
    return at;
  }
  template <class T>
  T* out(int64_t count) {
    return inOut(std::vector<T>(static_cast<size_t>(count), T(77)));
  }

  template <class Args>
  void run(void (*const OpTable::*cpu)(const Context&, const Args&),
           int32_t (*const CudaApi::*cuda)(void*, const Args&), const Args& args) {
    if (m_device) {
      m_device->check((m_on->api->*cuda)(nullptr, args));
    } else {
      (cpuOps().*cpu)({&m_threads}, args);
    }
  }

  std::vector<Output> outputs() {
    std::vector<Output> all;
    for (const Place& p : m_outputs) {
      std::vector<uint8_t> bytes(p.bytes);
      if (m_device) m_device->fetch(bytes, p.at);
      else memcpy(bytes.data(), p.at, p.bytes);
      all.push_back({std::move(bytes), p.floats});
    }
    return all;
  }

 private:
  struct Place {
    const void* at;
    size_t bytes;
    bool floats;
  };
  void* keep(const void* from, size_t bytes) {
    m_host.push_back(std::make_unique<uint64_t[]>(bytes / 8 + 9));
    auto at = reinterpret_cast<uintptr_t>(m_host.back().get());
    auto* to = reinterpret_cast<void*>((at + 63) / 64 * 64);
    if (bytes) memcpy(to, from, bytes);
    return to;
  }

  const TestDevice* m_on;
  std::unique_ptr<Device> m_device;
  ThreadPool m_threads{1};
  std::vector<std::unique_ptr<uint64_t[]>> m_host;
  std::vector<Place> m_outputs;
};

/// Empty, or where two runs differ first.
inline std::string difference(const std::vector<Output>& got, const std::vector<Output>& want) {
  for (size_t o = 0; o < want.size(); ++o) {
    const size_t step = want[o].floats ? 4 : 1;
    for (size_t i = 0; i + step <= want[o].bytes.size(); i += step) {
      if (memcmp(&got[o].bytes[i], &want[o].bytes[i], step) == 0) continue;
      float g = 0, w = 0;
      memcpy(&g, &got[o].bytes[i], step);
      memcpy(&w, &want[o].bytes[i], step);
      if (step == 4 && std::isnan(g) && std::isnan(w)) continue;
      char text[120];
      snprintf(text, sizeof text, "output %zu, place %zu: %a, wanted %a", o, i / step, double{g}, double{w});
      return text;
    }
  }
  return {};
}

/// A row of the table of comparisons.
struct OpCase {
  std::string op, type, shape;
  std::function<void(Rig&)> call;
};

}  // namespace kvlab::kernels::test

/// Runs the op of this name on whatever the rig is.
#define KVLAB_RUN(rig, op, ...) (rig).run(&kvlab::kernels::OpTable::op, &kvlab::kernels::CudaApi::op, __VA_ARGS__)
