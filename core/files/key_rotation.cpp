// SPDX-License-Identifier: Apache-2.0
#include "core/files/key_rotation.h"

#include <algorithm>
#include <cmath>

#include "core/model/decoder/frequencies.h"

namespace kvlab {

KeyRotation::KeyRotation(const ModelConfig& config, Layer layer, std::int64_t length)
    : m_frequencies(inverseFrequencies(config.rope(layer), config.headDim, length)),
      m_order(engineOrder(config)),
      m_dim(config.headDim),
      m_factor(config.rope(layer).attentionFactor) {}

void KeyRotation::outside(int heads, double* keys) const {
  std::vector<double> own(m_order.size());
  for (int head = 0; head < heads && !own.empty(); ++head, keys += own.size()) {
    std::copy_n(keys, own.size(), own.begin());
    for (std::size_t i = 0; i < own.size(); ++i) keys[m_order[i]] = own[i];
  }
}

void KeyRotation::inside(int heads, double* keys) const {
  std::vector<double> own(m_order.size());
  for (int head = 0; head < heads && !own.empty(); ++head, keys += own.size()) {
    std::copy_n(keys, own.size(), own.begin());
    for (std::size_t i = 0; i < own.size(); ++i) keys[i] = own[at(m_order[i])];
  }
}

void KeyRotation::rotate(double phase, int heads, double* keys) const {
  const std::size_t half = m_frequencies.size();
  for (std::size_t i = 0; i < half; ++i) {
    const double factor = factorAt(i);
    const double c = factor * std::cos(phase * m_frequencies[i]);
    const double s = factor * std::sin(phase * m_frequencies[i]);
    for (int head = 0; head < heads; ++head) {
      double* x = keys + std::int64_t{head} * m_dim + std::ptrdiff_t(i);
      const double x1 = x[0], x2 = x[half];
      x[0] = x1 * c - x2 * s;
      x[half] = x2 * c + x1 * s;
    }
  }
  outside(heads, keys);
}

void KeyRotation::unrotate(double phase, int heads, double* keys) const {
  inside(heads, keys);
  const std::size_t half = m_frequencies.size();
  for (std::size_t i = 0; i < half; ++i) {
    const double factor = factorAt(i);
    const double c = std::cos(phase * m_frequencies[i]) / factor;
    const double s = std::sin(phase * m_frequencies[i]) / factor;
    for (int head = 0; head < heads; ++head) {
      double* x = keys + std::int64_t{head} * m_dim + std::ptrdiff_t(i);
      const double y1 = x[0], y2 = x[half];
      x[0] = y1 * c + y2 * s;
      x[half] = y2 * c - y1 * s;
    }
  }
}

}  // namespace kvlab
