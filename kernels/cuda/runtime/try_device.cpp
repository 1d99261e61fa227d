// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/try_device.h"

#include <cstdio>
#include <limits>
#include <vector>

namespace kvlab::kernels {
namespace {

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

/// Calls until the first error.
class Calls {
 public:
  Calls(const CudaApi& api, int64_t bytes) : m_api(api) {
    then(m_api.openStream(&m_stream));
    if (!m_error) then(m_api.allocate(bytes, &m_memory));
  }
  ~Calls() {
    if (m_memory) m_api.release(m_memory);
    if (m_stream) m_api.closeStream(m_stream);
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  int32_t run(Product& p) {
    auto* at = static_cast<float*>(m_memory);
    LinearArgs a{.x = at, .m = 1, .nParts = 1};
    float* y = at + (p.y() - p.x());
    a.parts[0] = {{at + kDepth, DType::f32, nullptr, kOutputs, kDepth}, nullptr, y};
    if (!m_error) then(m_api.upload(m_stream, at, p.values.data(), p.bytes()));
    if (!m_error) then(m_api.linear(m_stream, a));
    if (!m_error) then(m_api.download(m_stream, p.y(), y, kOutputs * 4));
    if (m_stream) then(m_api.synchronise(m_stream));  // also before the host's memory goes
    return m_error;
  }

 private:
  void then(int32_t error) {
    if (!m_error) m_error = error;
  }

  const CudaApi& m_api;
  void *m_stream = nullptr, *m_memory = nullptr;
  int32_t m_error = 0;
};

}  // namespace

CudaTrial tryDevice(const CudaApi& api) {
  Product p;
  if (const int32_t error = Calls(api, p.bytes()).run(p)) return {error};
  for (int64_t n = 0; n < kOutputs; ++n) {
    const float got = p.y()[n], want = p.want[static_cast<size_t>(n)];
    if (got == want) continue;
    char why[120];
    snprintf(why, sizeof why, "the device computes wrongly: a sum of whole numbers is %g there instead of %g",
             static_cast<double>(got), static_cast<double>(want));
    return {0, why};
  }
  return {};
}

}  // namespace kvlab::kernels
