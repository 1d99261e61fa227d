// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/rotary.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {

constexpr std::int32_t kMaxDense = 1 << 20;

}  // namespace

Rotary::Rotary(const ModelConfig& config) : m_config(config), m_dense(std::clamp(config.maxPositions, 1, kMaxDense)) {
  for (const Rope& rope : config.ropes) {
    m_keySet.push_back(sets());
    m_sets.push_back({rope, false, inverseFrequencies(rope, config.headDim)});
    m_querySet.push_back(m_keySet.back());
    if (rope.queryBeta == 0) continue;
    m_querySet.back() = sets();
    m_sets.push_back({rope, true, m_sets.back().frequencies});
  }
  reserveExtra(256);
}

int Rotary::sets(const ModelConfig& config) {
  int count = 0;
  for (const Rope& rope : config.ropes) count += rope.queryBeta == 0 ? 1 : 2;
  return count;
}

double Rotary::Set::growth(double phase) const {
  if (!ofQueries || phase <= 0) return 1;
  return 1 + rope.queryBeta * std::log(1 + std::floor(phase / static_cast<double>(rope.queryEvery)));
}

bool Rotary::reach(std::int64_t length) {
  bool changed = false;
  for (Set& set : m_sets) {
    if (!set.rope.followsLength()) continue;
    std::vector<double> now = inverseFrequencies(set.rope, m_config.headDim, length);
    if (now == set.frequencies) continue;
    set.frequencies = std::move(now);
    changed = true;
  }
  if (!changed) return false;
  ++m_revision;
  for (std::int32_t row = 0; row < m_filled; ++row) fillRow(row, row, 0);
  for (std::size_t i = 0; i < m_extra.size(); ++i)
    fillRow(m_dense + static_cast<std::int64_t>(i), m_extra[i].first, m_extra[i].second);
  return true;
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
  fillRow(row, p, sigma);
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
  for (; m_filled < end; ++m_filled) fillRow(m_filled, m_filled, 0);
}

void Rotary::fillRow(std::int64_t row, double phase, double sigma) {
  for (std::size_t s = 0; s < m_sets.size(); ++s) {
    const Set& set = m_sets[s];
    const std::size_t half = set.frequencies.size();
    float* to = m_table.get() + (static_cast<std::int64_t>(s) * capacity() + row) * width();
    const double growth = set.growth(phase);
    for (std::size_t i = 0; i < half; ++i) {
      const double w = set.frequencies[i];
      const double factor = w == 0 ? growth : growth * set.rope.attentionFactor;  // w == 0: the pair does not turn
      const double scale = factor * (sigma == 0 ? 1.0 : std::exp(-0.5 * sigma * w * sigma * w));
      to[i] = static_cast<float>(std::cos(phase * w) * scale);
      to[half + i] = static_cast<float>(std::sin(phase * w) * scale);
    }
  }
}

void Rotary::reserveExtra(std::size_t rows) {
  const std::int64_t before = capacity(), after = m_dense + static_cast<std::int64_t>(rows);
  auto table = std::make_unique_for_overwrite<float[]>(at(sets() * after * width()));
  for (int set = 0; m_table && set < sets(); ++set) {
    const float* from = m_table.get() + set * before * width();
    float* to = table.get() + set * after * width();
    std::copy_n(from, m_filled * width(), to);
    std::copy_n(from + m_dense * width(), extraFilled() * width(), to + m_dense * width());
  }
  m_table = std::move(table);
  m_extraCapacity = rows;
}

void RotaryMirror::send(const Rotary& rotary, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = rotary.width();
  for (int set = 0; set < rotary.sets(); ++set)
    m_copy.write((set * rotary.capacity() + begin) * width,
                 {rotary.data(set) + begin * width, static_cast<std::size_t>((end - begin) * width)});
}

const float* RotaryMirror::update(kernels::Backend& backend, const Rotary& rotary) {
  if (backend.onHost()) return rotary.data();
  const std::int64_t floats = rotary.sets() * rotary.capacity() * rotary.width();
  if (m_copy.size() != floats || m_revision != rotary.revision()) m_dense = m_extra = 0;
  m_revision = rotary.revision();
  if (m_copy.size() != floats && !m_copy.allocate(backend, floats)) return nullptr;
  if (m_dense < rotary.denseFilled()) send(rotary, m_dense, rotary.denseFilled());
  if (m_extra < rotary.extraFilled()) send(rotary, rotary.dense() + m_extra, rotary.dense() + rotary.extraFilled());
  m_dense = rotary.denseFilled();
  m_extra = rotary.extraFilled();
  return m_copy.data();
}

}  // namespace kvlab
