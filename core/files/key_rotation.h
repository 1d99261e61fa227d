// SPDX-License-Identifier: Apache-2.0
// Converts keys between kvlab, which stores unrotated keys, and Hugging Face, which stores keys rotated at their
// phases. Half-split pairs (i, i + headDim/2) turn by y1 = x1 c - x2 s, y2 = x2 c + x1 s with c, s = attentionFactor *
// cos, sin(phase * w_i) (transformers' modeling_rope_utils). The inverse divides by c^2 + s^2. Computes in double; a
// value is rounded once, where it is stored. Pure; any thread.
#pragma once
#include <vector>

#include "core/model/files/config.h"

namespace kvlab {

class KeyRotation {
 public:
  explicit KeyRotation(const ModelConfig& config);

  /// Rotates the keys of one row, [heads, headDim], in place.
  void rotate(double phase, int heads, double* keys) const;
  void unrotate(double phase, int heads, double* keys) const;

 private:
  std::vector<double> m_frequencies;  // [headDim/2]
  double m_factor;
};

}  // namespace kvlab
