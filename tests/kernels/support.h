// SPDX-License-Identifier: Apache-2.0
// Helpers that the kernel tests share: reproducible random data, comparison of bits, choice of the
// instruction set that dispatch uses, and a model of the arithmetic in plain scalar code.
#pragma once

#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/dtype.h"
#include "kernels/scalar_convert.h"

namespace kvlab::kernels::test {

/// A small generator with the same sequence everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : m_state(seed * 2 + 1) {}
  uint32_t bits() {
    m_state = m_state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<uint32_t>((m_state ^ (m_state >> 22)) >> (22 + (m_state >> 61)));
  }
  /// Uniform in [-scale, scale).
  float value(float scale = 1.0f) { return (static_cast<float>(bits() >> 8) * 0x1p-23f - 1.0f) * scale; }
  int64_t below(int64_t n) { return bits() % n; }
  std::vector<float> values(int64_t n, float scale = 1.0f) {
    std::vector<float> v(static_cast<size_t>(n));
    for (float& x : v) x = value(scale);
    return v;
  }

 private:
  uint64_t m_state;
};

inline bool sameBits(const float* a, const float* b, int64_t n) {
  return memcmp(a, b, static_cast<size_t>(n) * 4) == 0;
}

inline bool sameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && sameBits(a.data(), b.data(), static_cast<int64_t>(a.size()));
}

/// Largest |a - b| over largest |b|.
inline double relativeError(const std::vector<float>& a, const std::vector<double>& b) {
  double worst = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::fabs(double{a[i]} - b[i]));
    scale = std::max(scale, std::fabs(b[i]));
  }
  return scale == 0 ? worst : worst / scale;
}

/// Restricts dispatch to one instruction set while it lives.
class OnTarget {
 public:
  explicit OnTarget(int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~OnTarget() { hwy::SetSupportedTargetsForTest(0); }
};

/// Instruction sets of this processor whose numerics id is portable-fma, the scalar one included.
inline std::vector<int64_t> fusedTargets() {
  const int64_t here = hwy::SupportedTargets();
  std::vector<int64_t> all;
  for (const int64_t t : {HWY_AVX3, HWY_AVX2, HWY_NEON, HWY_SCALAR}) {
    if (t == HWY_SCALAR || (here & t)) all.push_back(t);
  }
  return all;
}

/// Stores values as type t and returns the bytes; `as` receives the values that reading gives back. i8: codes of a
/// hundredth.
inline std::vector<uint8_t> encode(const std::vector<float>& v, DType t, std::vector<float>* as = nullptr) {
  std::vector<uint8_t> bytes(v.size() * static_cast<size_t>(dtypeBytes(t)));
  if (as) as->resize(v.size());
  for (size_t i = 0; i < v.size(); ++i) {
    if (t == DType::i8) {
      const auto code = static_cast<int8_t>(std::lround(100 * v[i]));
      bytes[i] = static_cast<uint8_t>(code);
      if (as) (*as)[i] = code;
      continue;
    }
    const uint16_t narrow = t == DType::f16 ? floatToHalf(v[i]) : floatToBf16(v[i]);
    if (t == DType::f32) {
      memcpy(bytes.data() + 4 * i, &v[i], 4);
    } else {
      memcpy(bytes.data() + 2 * i, &narrow, 2);
    }
    if (as) (*as)[i] = t == DType::f32 ? v[i] : t == DType::f16 ? halfToFloat(narrow) : bf16ToFloat(narrow);
  }
  return bytes;
}

/// The tree over 16 lanes, written down once more.
inline float modelTree(std::vector<float> lanes) {
  for (size_t step = 8; step > 0; step /= 2) {
    for (size_t j = 0; j < step; ++j) lanes[j] += lanes[j + step];
  }
  return lanes[0];
}

/// A dot product as numerics.h defines it.
inline float modelDot(const float* a, const float* b, int64_t n) {
  std::vector<float> lanes(16, 0.0f);
  for (int64_t k = 0; k < n; ++k) {
    float& lane = lanes[static_cast<size_t>(k % 16)];
    lane = std::fma(a[k], b[k], lane);
  }
  return modelTree(lanes);
}

/// The same in pairs, for values of bf16.
inline float modelPairDot(const float* a, const float* b, int64_t n) {
  std::vector<float> lanes(16, 0.0f);
  for (int64_t k = 0; k < n; k += 2) {
    float& lane = lanes[static_cast<size_t>(k / 2 % 16)];
    if (k + 1 < n) lane = std::fma(a[k + 1], b[k + 1], lane);
    lane = std::fma(a[k], b[k], lane);
  }
  return modelTree(lanes);
}

}  // namespace kvlab::kernels::test
