// SPDX-License-Identifier: Apache-2.0
#include "core/selftest/text_fit.h"

#include <cmath>
#include <cstdio>
#include <numeric>

namespace kvlab {
namespace {

constexpr double kErrors = 2;  // standard errors of the mean that a gain must exceed

std::string nats(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.3f nats a token", value);
  return out;
}

}  // namespace

double TextFit::ownMean() const {
  return std::accumulate(m_own.begin(), m_own.end(), 0.0) / static_cast<double>(m_own.size());
}

void TextFit::compare(std::span<const double> other, const std::string& setting) {
  ++m_compared;
  double sum = 0, square = 0;
  for (std::size_t i = 0; i < m_own.size(); ++i) {
    const double gain = m_own[i] - other[i];
    sum += gain;
    square += gain * gain;
  }
  const auto n = static_cast<double>(m_own.size());
  const double mean = sum / n, spread = std::sqrt(std::max(0.0, square / n - mean * mean) / n);
  if (!(mean > m_gain) || mean <= kErrors * spread) return;
  m_gain = mean;
  m_best = setting;
}

bool TextFit::predicts(std::int32_t vocab) const { return ownMean() < std::log(static_cast<double>(vocab)); }

SelfTestFigure TextFit::figure(std::int32_t vocab, const std::string& more) const {
  if (!predicts(vocab)) return skippedTest("the text costs " + nats(ownMean()) + ", more than guessing does");
  std::string says = "the text costs " + nats(ownMean());
  if (m_gain > 0) says += ", and less with " + m_best;
  else says += ", and with none of " + std::to_string(m_compared) + " other settings less";
  return {m_gain, kFitLimit, "nats a token", says + more};
}

}  // namespace kvlab
