// SPDX-License-Identifier: Apache-2.0
#include "core/files/key_rotation.h"

#include <cmath>

#include "core/model/decoder/rotary.h"

namespace kvlab {

KeyRotation::KeyRotation(const ModelConfig& config)
    : m_frequencies(inverseFrequencies(config)),
      m_factor(config.rope.kind == RopeScaling::Kind::Yarn ? config.rope.attentionFactor : 1.0) {}

void KeyRotation::rotate(double phase, int heads, double* keys) const {
  const std::size_t half = m_frequencies.size();
  for (std::size_t i = 0; i < half; ++i) {
    const double c = m_factor * std::cos(phase * m_frequencies[i]);
    const double s = m_factor * std::sin(phase * m_frequencies[i]);
    for (int head = 0; head < heads; ++head) {
      double* x = keys + static_cast<std::size_t>(head) * 2 * half + i;
      const double x1 = x[0], x2 = x[half];
      x[0] = x1 * c - x2 * s;
      x[half] = x2 * c + x1 * s;
    }
  }
}

void KeyRotation::unrotate(double phase, int heads, double* keys) const {
  const std::size_t half = m_frequencies.size();
  for (std::size_t i = 0; i < half; ++i) {
    const double c = std::cos(phase * m_frequencies[i]) / m_factor;
    const double s = std::sin(phase * m_frequencies[i]) / m_factor;
    for (int head = 0; head < heads; ++head) {
      double* x = keys + static_cast<std::size_t>(head) * 2 * half + i;
      const double y1 = x[0], y2 = x[half];
      x[0] = y1 * c + y2 * s;
      x[half] = y2 * c - y1 * s;
    }
  }
}

}  // namespace kvlab
