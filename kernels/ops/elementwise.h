// SPDX-License-Identifier: Apache-2.0
// Value-by-value ops on f32 arrays.
#pragma once

#include <cstdint>

#include "kernels/context.h"

namespace kvlab::kernels {

struct AddArgs {
  const float* a = nullptr;  ///< [count]
  const float* b = nullptr;  ///< [count]
  float* out = nullptr;      ///< [count]; may equal a or b
  int64_t count = 0;
};

void add(const Context&, const AddArgs&);

/// The function of a gate: silu(g) = g / (1 + exp(-g)), or the tanh form of gelu,
/// 0.5 g (1 + tanh(sqrt(2/pi) (g + 0.044715 g^3))) = g / (1 + exp(-2 sqrt(2/pi) (g + 0.044715 g^3))).
/// clampedSilu, of gpt-oss: g = min(g, 7), u = clamp(u, -7, 7), g / (1 + exp(-1.702 g)) * (u + 1).
enum class GateFunction : uint8_t { silu, geluTanh, clampedSilu };
inline constexpr float kClampedSiluLimit = 7.0f, kClampedSiluSlope = 1.702f;

struct SwigluArgs {
  const float* gate = nullptr;  ///< [rows, dim], row stride gateStride
  const float* up = nullptr;    ///< [rows, dim], row stride upStride
  float* out = nullptr;         ///< [rows, dim], dense; may equal gate or up where that is dense
  int64_t rows = 0, dim = 0;
  int64_t gateStride = 0;  ///< in floats; 0 means dim
  int64_t upStride = 0;
  GateFunction function = GateFunction::silu;
};

/// out = function(gate) * up (Shazeer 2020, arXiv:2002.05202).
void swiglu(const Context&, const SwigluArgs&);

struct SoftcapArgs {
  float* x = nullptr;  ///< [count]
  int64_t count = 0;
  float cap = 1.0f;  ///< above 0
};

/// x = cap * tanh(x / cap), in place.
void softcap(const Context&, const SoftcapArgs&);

}  // namespace kvlab::kernels
