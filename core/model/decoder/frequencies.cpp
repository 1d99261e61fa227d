// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/frequencies.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "kernels/row_checksum.h"

namespace kvlab {
namespace {

using Kind = Rope::Kind;

constexpr double kTurn = 2 * std::numbers::pi;

/// Llama 3.1 stretches long waves, keeps short waves and blends the waves between.
double llama3Frequency(double w, const Rope& rope) {
  const auto length = static_cast<double>(rope.originalMaxPosition);
  const double wave = kTurn / w;
  if (wave < length / rope.highFreqFactor) return w;
  if (wave > length / rope.lowFreqFactor) return w / rope.factor;
  const double smooth = (length / wave - rope.lowFreqFactor) / (rope.highFreqFactor - rope.lowFreqFactor);
  return (1 - smooth) * w / rope.factor + smooth * w;
}

/// YaRN: a linear ramp over the pairs between betaFast and betaSlow rotations (arXiv:2309.00071).
void applyYarn(std::vector<double>& w, const Rope& rope, int dims) {
  const auto pairWith = [&](double rotations) {
    return dims * std::log(static_cast<double>(rope.originalMaxPosition) / (rotations * kTurn)) /
        (2 * std::log(rope.theta));
  };
  double low = pairWith(rope.betaFast), high = pairWith(rope.betaSlow);
  if (rope.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    w[i] = w[i] / rope.factor * ramp + w[i] * (1 - ramp);
  }
}

/// The base of dynamic NTK grows with the context.
double thetaFor(const Rope& rope, int dims, std::int64_t length) {
  if (rope.kind != Kind::Dynamic || dims <= 2) return rope.theta;
  const auto trained = static_cast<double>(rope.originalMaxPosition);
  const double longest = std::max(trained, static_cast<double>(length));
  return rope.theta * std::pow(rope.factor * longest / trained - (rope.factor - 1), dims / (dims - 2.0));
}

}  // namespace

std::vector<double> inverseFrequencies(const Rope& rope, int headDim, std::int64_t length) {
  const auto half = static_cast<std::size_t>(headDim / 2);
  if (rope.kind == Kind::Off) return std::vector<double>(half);
  const int dims = rope.dims ? rope.dims : headDim;
  const double theta = thetaFor(rope, dims, length);
  std::vector<double> w(static_cast<std::size_t>(dims / 2));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = 1.0 / std::pow(theta, 2.0 * static_cast<double>(i) / dims);
  switch (rope.kind) {
    case Kind::Linear:
      for (double& f : w) f /= rope.factor;
      break;
    case Kind::Llama3:
      for (double& f : w) f = llama3Frequency(f, rope);
      break;
    case Kind::Yarn: applyYarn(w, rope, dims); break;
    case Kind::LongRope: {
      const std::vector<double>& factors = length > rope.originalMaxPosition ? rope.longFactors : rope.shortFactors;
      for (std::size_t i = 0; i < w.size() && i < factors.size(); ++i) w[i] /= factors[i];
      break;
    }
    default: break;
  }
  w.resize(half);  // pairs that do not turn have frequency 0
  return w;
}

std::int64_t lengthOfChange(const Rope& rope) { return rope.followsLength() ? rope.originalMaxPosition : 0; }

std::uint64_t turnWord(const ModelConfig& config, std::int64_t length) {
  std::uint64_t word = 0;
  for (const Rope& rope : config.ropes)
    if (rope.followsLength())
      for (const double w : inverseFrequencies(rope, config.headDim, length))
        word = kernels::mix64(word ^ std::bit_cast<std::uint64_t>(w));
  return word;
}

std::vector<std::int32_t> engineOrder(const ModelConfig& c) {
  const std::int32_t dims = c.ropes.front().dims, half = c.headDim / 2, turning = dims / 2;
  if (dims == 0) return {};
  std::vector<std::int32_t> order(static_cast<std::size_t>(c.headDim));
  for (std::int32_t i = 0; i < half; ++i) {
    order[at(i)] = i < turning ? i : i + turning;  // behind the values that turn, first half
    order[at(i + half)] = i < turning ? i + turning : i + half;
  }
  if (c.headDim % 2 != 0) order.back() = c.headDim - 1;  // without a partner
  return order;
}

std::vector<std::int32_t> neighbourOrder(const ModelConfig& c) {
  if (!c.interleavedRotary) return {};
  const std::int32_t dims = c.ropes.front().dims ? c.ropes.front().dims : c.headDim, turning = dims / 2;
  std::vector<std::int32_t> order(static_cast<std::size_t>(c.headDim));
  for (std::int32_t i = 0; i < c.headDim; ++i)
    order[at(i)] = i < turning ? 2 * i : i < dims ? 2 * (i - turning) + 1 : i;
  return order;
}

}  // namespace kvlab
