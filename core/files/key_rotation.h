// SPDX-License-Identifier: Apache-2.0
// Converts keys between kvlab, which stores unrotated keys, and Hugging Face, which stores keys rotated at their
// phases. Half-split pairs (i, i + headDim/2) turn by y1 = x1 c - x2 s, y2 = x2 c + x1 s with c, s = attentionFactor *
// cos, sin(phase * w_i) (transformers' modeling_rope_utils). The inverse divides by c^2 + s^2. If only a part of a head
// turns, kvlab holds the values in the engine's order (core/model/decoder/frequencies.h), and files hold them in their
// own order. Computes in double; a value is rounded once, where it is stored. Pure; any thread.
#pragma once
#include <vector>

#include "core/model/files/config.h"

namespace kvlab {

class KeyRotation {
 public:
  /// The rotation of one layer, in a context of `length` tokens.
  KeyRotation(const ModelConfig& config, Layer layer, std::int64_t length);

  /// Rotates the keys of one row, [heads, headDim], in place: from the engine's to the outside order.
  void rotate(double phase, int heads, double* keys) const;
  void unrotate(double phase, int heads, double* keys) const;
  /// The engine's order to that outside, without rotation.
  void outside(int heads, double* keys) const;
  void inside(int heads, double* keys) const;

 private:
  /// A pair that does not turn is not scaled either.
  double factorAt(std::size_t pair) const { return m_frequencies[pair] == 0 ? 1 : m_factor; }

  std::vector<double> m_frequencies;  // [headDim/2]
  std::vector<std::int32_t> m_order;  // [headDim] or empty
  int m_dim;                          // headDim
  double m_factor;
};

}  // namespace kvlab
