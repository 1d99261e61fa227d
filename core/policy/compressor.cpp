// SPDX-License-Identifier: Apache-2.0
#include "core/policy/compressor.h"

#include <cmath>

namespace kvlab {

NearestCompressor::NearestCompressor(std::shared_ptr<const Model> model) : m_model(std::move(model)) {}

void NearestCompressor::prepare() {
  if (!m_embeddings.empty()) return;
  m_embeddings = widened(m_model->embed());
  const auto hidden = static_cast<std::size_t>(m_model->config().hidden);
  for (std::size_t begin = 0; begin < m_embeddings.size(); begin += hidden) {
    double sum = 0;
    for (std::size_t i = 0; i < hidden; ++i) sum += double(m_embeddings[begin + i]) * m_embeddings[begin + i];
    m_norms.push_back(std::sqrt(sum));
  }
}

std::optional<TokenId> NearestCompressor::replacement(TokenId a, float brightnessA, TokenId b, float brightnessB,
                                                      double minCosine) {
  prepare();
  const auto hidden = static_cast<std::size_t>(m_model->config().hidden);
  const bool dark = brightnessA == 0 && brightnessB == 0;
  const double wa = dark ? 1 : brightnessA, wb = dark ? 1 : brightnessB;
  const float* ea = m_embeddings.data() + static_cast<std::size_t>(a.value()) * hidden;
  const float* eb = m_embeddings.data() + static_cast<std::size_t>(b.value()) * hidden;
  std::vector<double> mean(hidden);
  double norm = 0;
  for (std::size_t i = 0; i < hidden; ++i) {
    mean[i] = (wa * double(ea[i]) + wb * double(eb[i])) / (wa + wb);
    norm += mean[i] * mean[i];
  }
  norm = std::sqrt(norm);
  std::optional<TokenId> best;
  double bestCosine = minCosine;
  for (std::size_t id = 0; id < m_norms.size(); ++id) {
    if (m_model->tokenizer().isSpecial(TokenId(static_cast<std::int32_t>(id)))) continue;
    if (m_norms[id] == 0 || norm == 0) continue;
    double dot = 0;
    for (std::size_t i = 0; i < hidden; ++i) dot += mean[i] * double(m_embeddings[id * hidden + i]);
    const double cosine = dot / (norm * m_norms[id]);
    if (best ? cosine <= bestCosine : cosine < bestCosine) continue;
    best = TokenId(static_cast<std::int32_t>(id));
    bestCosine = cosine;
  }
  return best;
}

}  // namespace kvlab
