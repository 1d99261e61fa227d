// SPDX-License-Identifier: Apache-2.0
// Quantised rows once more, from their definition: codes by search and by the C library's rounding, no bits.
#pragma once

#include <cmath>
#include <limits>

#include "support.h"

namespace kvlab::kernels::test {

/// E4M3 as it is defined: sign, four bits of exponent with bias 7, three of mantissa; no infinities.
inline float fp8Value(int code) {
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa / 8.0, -6) : std::ldexp(1 + mantissa / 8.0, exponent - 7);
  return static_cast<float>(code & 0x80 ? -magnitude : magnitude);
}

/// The nearest of the 127 magnitudes; of two as near the one with an even last bit.
inline int fp8Code(float x) {
  int best = 0;
  for (int code = 1; code < 0x7f; ++code) {
    const double now = std::fabs(std::fabs(double{x}) - double{fp8Value(code)}),
                 before = std::fabs(std::fabs(double{x}) - double{fp8Value(best)});
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  return best | (std::signbit(x) ? 0x80 : 0);
}

/// One head as codes and a scale.
struct QuantHead {
  std::vector<uint8_t> codes;
  float scale = 0;

  QuantHead(const float* x, int64_t n, DType t) : codes(static_cast<size_t>(n)) {
    const float most = t == DType::i8 ? 127.0f : 448.0f;
    float amax = 0;
    bool finite = true;
    for (int64_t i = 0; i < n; ++i) finite = finite && std::isfinite(x[i]), amax = std::fmax(amax, std::fabs(x[i]));
    scale = finite ? std::fmax(amax / most, 1e-8f) : NAN;
    for (size_t i = 0; finite && i < codes.size(); ++i) {
      const float quotient = x[i] / scale;
      codes[i] = static_cast<uint8_t>(t == DType::i8 ? static_cast<int>(std::nearbyint(quotient)) : fp8Code(quotient));
    }
  }
};

inline float codeMeans(uint8_t code, DType t) {
  return t == DType::i8 ? static_cast<float>(code < 128 ? code : code - 256) : fp8Value(code);
}

/// The values that rows of heads of headDim read back as, whatever their type.
inline std::vector<float> readBack(const std::vector<float>& x, int64_t headDim, DType t) {
  std::vector<float> out;
  if (!dtypeHasScale(t)) return encode(x, t, &out), out;
  for (size_t at = 0; at < x.size(); at += static_cast<size_t>(headDim)) {
    const QuantHead head(x.data() + at, headDim, t);
    for (const uint8_t code : head.codes) out.push_back(codeMeans(code, t) * head.scale);
  }
  return out;
}

}  // namespace kvlab::kernels::test
