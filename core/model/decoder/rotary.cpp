// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kvlab {
namespace {

using Kind = RopeScaling::Kind;

constexpr std::int32_t kMaxDense = 1 << 20;
constexpr double kTurn = 2 * std::numbers::pi;

/// Llama 3.1 stretches long waves, keeps short waves and blends the waves between.
double llama3Frequency(double w, const RopeScaling& rope) {
  const auto length = static_cast<double>(rope.originalMaxPosition);
  const double wave = kTurn / w;
  if (wave < length / rope.highFreqFactor) return w;
  if (wave > length / rope.lowFreqFactor) return w / rope.factor;
  const double smooth = (length / wave - rope.lowFreqFactor) / (rope.highFreqFactor - rope.lowFreqFactor);
  return (1 - smooth) * w / rope.factor + smooth * w;
}

/// YaRN: a linear ramp over the pairs between betaFast and betaSlow rotations (arXiv:2309.00071).
void applyYarn(std::vector<double>& w, const ModelConfig& c) {
  const auto pairWith = [&](double rotations) {
    return c.headDim * std::log(static_cast<double>(c.rope.originalMaxPosition) / (rotations * kTurn)) /
        (2 * std::log(c.ropeTheta));
  };
  double low = pairWith(c.rope.betaFast), high = pairWith(c.rope.betaSlow);
  if (c.rope.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0);
  high = std::min(high, c.headDim - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    w[i] = w[i] / c.rope.factor * ramp + w[i] * (1 - ramp);
  }
}

}  // namespace

std::vector<double> inverseFrequencies(const ModelConfig& config) {
  std::vector<double> w(static_cast<std::size_t>(config.headDim / 2));
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = 1.0 / std::pow(config.ropeTheta, 2.0 * static_cast<double>(i) / config.headDim);
  switch (config.rope.kind) {
    case Kind::None: break;
    case Kind::Linear:
      for (double& f : w) f /= config.rope.factor;
      break;
    case Kind::Llama3:
      for (double& f : w) f = llama3Frequency(f, config.rope);
      break;
    case Kind::Yarn: applyYarn(w, config); break;
  }
  return w;
}

Rotary::Rotary(const ModelConfig& config)
    : m_frequencies(inverseFrequencies(config)),
      m_attentionFactor(config.rope.kind == Kind::Yarn ? config.rope.attentionFactor : 1.0),
      m_dense(std::clamp(config.maxPositions, 1, kMaxDense)) {
  reserveExtra(256);
}

std::int32_t Rotary::index(Phase phase, double sigma) {
  const double p = phase.value();
  if (sigma == 0 && p >= 0 && p < m_dense && p == std::floor(p)) {
    const auto row = static_cast<std::int32_t>(p);
    if (row >= m_filled) fillDense(row);
    return row;
  }
  const std::pair key(p, sigma);
  if (const auto it = m_rows.find(key); it != m_rows.end()) return it->second;
  if (m_extra.size() == m_extraCapacity) reserveExtra(m_extraCapacity * 2);
  const auto row = m_dense + static_cast<std::int32_t>(m_extra.size());
  fillRow(m_table.get() + static_cast<std::size_t>(row) * m_frequencies.size() * 2, p, sigma);
  m_extra.push_back(key);
  m_rows.emplace(key, row);
  return row;
}

Phase Rotary::phase(std::int32_t index) const {
  return Phase(index < m_dense ? index : m_extra[static_cast<std::size_t>(index - m_dense)].first);
}

double Rotary::sigma(std::int32_t index) const {
  return index < m_dense ? 0 : m_extra[static_cast<std::size_t>(index - m_dense)].second;
}

/// Steps of 256 rows keep the number of calls small and compute few rows that nobody reads.
void Rotary::fillDense(std::int32_t last) {
  const std::int32_t end =
      static_cast<std::int32_t>(std::min<std::int64_t>(m_dense, (std::int64_t{last} / 256 + 1) * 256));
  for (; m_filled < end; ++m_filled)
    fillRow(m_table.get() + static_cast<std::size_t>(m_filled) * m_frequencies.size() * 2, m_filled, 0);
}

void Rotary::fillRow(float* row, double phase, double sigma) const {
  const std::size_t half = m_frequencies.size();
  for (std::size_t i = 0; i < half; ++i) {
    const double w = m_frequencies[i];
    const double scale = m_attentionFactor * (sigma == 0 ? 1.0 : std::exp(-0.5 * sigma * w * sigma * w));
    row[i] = static_cast<float>(std::cos(phase * w) * scale);
    row[half + i] = static_cast<float>(std::sin(phase * w) * scale);
  }
}

void Rotary::reserveExtra(std::size_t rows) {
  const std::size_t width = m_frequencies.size() * 2;
  auto table = std::make_unique_for_overwrite<float[]>((static_cast<std::size_t>(m_dense) + rows) * width);
  if (m_table) {
    std::copy_n(m_table.get(), static_cast<std::size_t>(m_filled) * width, table.get());
    const std::size_t extra = static_cast<std::size_t>(m_dense) * width;
    std::copy_n(m_table.get() + extra, m_extra.size() * width, table.get() + extra);
  }
  m_table = std::move(table);
  m_extraCapacity = rows;
}

}  // namespace kvlab
