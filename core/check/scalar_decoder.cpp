// SPDX-License-Identifier: Apache-2.0
#include "core/check/scalar_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/model/decoder/frequencies.h"
#include "kernels/numerics.h"
#include "kernels/scalar_convert.h"

namespace kvlab {
namespace {

/// The values of row `row` of a matrix.
void widenRow(const TensorView& w, std::int64_t row, std::vector<float>& out) {
  const std::int64_t width = w.shape[1];
  TensorView one{
      static_cast<const std::byte*>(w.data) + row * kernels::dtypeRowBytes(w.dtype, width), w.dtype, {width}};
  if (!kernels::dtypeHasScale(w.dtype)) {
    out = widened(one);
    return;
  }
  const auto* codes = static_cast<const std::int8_t*>(w.data) + row * width;
  out.resize(at(width));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(codes[i]) * w.scales()[row];
}

/// A row of a matrix times x, without a copy of the row where its type has none of its own.
double product(const TensorView& w, std::int64_t row, std::span<const double> x, std::vector<float>& copy) {
  const auto sum = [&x](const auto* from, auto widen) {
    constexpr std::size_t kLanes = 8;  // one sum would wait for itself
    double lanes[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= x.size(); i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += static_cast<double>(widen(from[i + lane])) * x[i + lane];
    for (; i < x.size(); ++i) lanes[0] += static_cast<double>(widen(from[i])) * x[i];
    return std::accumulate(lanes, lanes + kLanes, 0.0);
  };
  const auto same = [](float value) { return value; };
  const std::int64_t begin = row * w.shape[1];
  if (w.dtype == kernels::DType::f32) return sum(static_cast<const float*>(w.data) + begin, same);
  if (w.dtype == kernels::DType::bf16)
    return sum(static_cast<const std::uint16_t*>(w.data) + begin, kernels::bf16ToFloat);
  widenRow(w, row, copy);
  return sum(copy.data(), same);
}

constexpr std::size_t kBlock = 32;  // values that share a scale where they are rounded in blocks

/// Each value rounded to bf16, to nearest, ties to even.
void roundToBf16(std::vector<double>& x) {
  for (double& value : x)
    value = static_cast<double>(kernels::bf16ToFloat(kernels::floatToBf16(static_cast<float>(value))));
}

/// Blocks of values as codes of int8 with the scale largest / 127.
void roundInBlocks(std::vector<double>& x) {
  for (std::size_t begin = 0; begin < x.size(); begin += kBlock) {
    const std::span<double> block = std::span(x).subspan(begin, std::min(kBlock, x.size() - begin));
    double most = 0;
    for (const double value : block) most = std::max(most, std::abs(value));
    for (double& value : block) value = most == 0 ? 0 : std::nearbyint(value * (127 / most)) * (most / 127);
  }
}

/// Each head's values in another order: out[i] = x[order[i]].
void reorder(const std::vector<std::int32_t>& order, std::vector<double>& x) {
  if (order.empty()) return;
  std::vector<double> head(order.size());
  for (std::size_t begin = 0; begin < x.size(); begin += order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) head[i] = x[begin + at(order[i])];
    std::copy(head.begin(), head.end(), x.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

double gated(Activation activation, double g, double u) {
  constexpr double kRoot = 0.7978845608028654;  // sqrt(2/pi)
  switch (activation) {
    case Activation::Silu: return g / (1 + std::exp(-g)) * u;
    case Activation::GeluTanh: return 0.5 * g * (1 + std::tanh(kRoot * (g + 0.044715 * g * g * g))) * u;
    case Activation::ClampedSilu: {
      const double low = std::min(g, 7.0);
      return low / (1 + std::exp(-1.702 * low)) * (std::clamp(u, -7.0, 7.0) + 1);
    }
  }
  return 0;
}

/// The rotation of a key by a phase, which follows from that of the phase before by one step.
class Turn {
 public:
  explicit Turn(const std::vector<double>& frequencies)
      : m_w(frequencies), m_cosine(m_w.size()), m_sine(m_w.size()), m_stepCosine(m_w.size()), m_stepSine(m_w.size()) {
    for (std::size_t i = 0; i < m_w.size(); ++i) m_stepCosine[i] = std::cos(m_w[i]), m_stepSine[i] = std::sin(m_w[i]);
  }
  void to(double phase) {
    if (phase == m_phase) return;
    const bool step = phase == m_phase + 1;
    m_phase = phase;
    for (std::size_t i = 0; !step && i < m_w.size(); ++i)
      m_cosine[i] = std::cos(phase * m_w[i]), m_sine[i] = std::sin(phase * m_w[i]);
    for (std::size_t i = 0; step && i < m_w.size(); ++i) {
      const double was = m_cosine[i];
      m_cosine[i] = was * m_stepCosine[i] - m_sine[i] * m_stepSine[i];
      m_sine[i] = m_sine[i] * m_stepCosine[i] + was * m_stepSine[i];
    }
  }
  /// Product of a turned query and a key that is turned here, one head each; scales [half]. The last value of an odd
  /// number does not turn.
  double dot(std::span<const double> q, std::span<const double> k, std::span<const double> scales) const {
    const std::size_t half = m_w.size();
    const auto term = [&](std::size_t i) {
      const double a = q[i] * m_cosine[i] + q[half + i] * m_sine[i], b = q[half + i] * m_cosine[i] - q[i] * m_sine[i];
      return scales[i] * (a * k[i] + b * k[half + i]);
    };
    double lanes[4] = {k.size() % 2 ? q[2 * half] * k[2 * half] : 0};
    std::size_t i = 0;
    for (; i + 4 <= half; i += 4)
      for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] += term(i + lane);
    for (; i < half; ++i) lanes[0] += term(i);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
  }

 private:
  const std::vector<double>& m_w;
  double m_phase = NAN;
  std::vector<double> m_cosine, m_sine, m_stepCosine, m_stepSine;
};

void add(std::vector<double>& x, std::span<const double> y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

}  // namespace

double lengthOf(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

double distanceOf(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

ScalarDecoder::ScalarDecoder(const Model& model, std::int64_t length, std::string_view numerics)
    : m_model(model),
      m_length(length),
      m_rounding(numerics == kernels::kBf16NumericsId     ? ScalarRounding::Bf16
                     : numerics == kernels::kQ8NumericsId ? ScalarRounding::Blocks
                                                          : ScalarRounding::None) {}

std::vector<double> ScalarDecoder::embed(TokenId token) const {
  std::vector<float> row;
  widenRow(m_model.embed(), token.value(), row);
  std::vector<double> out(row.begin(), row.end());
  for (double& value : out) value *= config().embeddingScale;
  return out;
}

std::vector<double> ScalarDecoder::norm(const TensorView& weight, std::span<const double> x) const {
  std::vector<double> out(x.begin(), x.end());
  if (!weight) return out;
  const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / static_cast<double>(x.size());
  const double scale = 1 / std::sqrt(squares + config().rmsEps);
  const std::vector<float> w = widened(weight);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] *= scale * (static_cast<double>(w[i]) + config().normOffset);
  return out;
}

/// Normalises each head, or all heads together; the weight's length decides which.
void ScalarDecoder::headNorm(const TensorView& weight, std::vector<double>& x) const {
  if (!weight) return;
  const std::size_t each = at(weight.shape[0]);
  for (std::size_t begin = 0; begin < x.size(); begin += each) {
    const std::vector<double> normed = norm(weight, std::span(x).subspan(begin, each));
    std::copy(normed.begin(), normed.end(), x.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

/// Norms heads and puts their values into the order of stored heads.
void ScalarDecoder::order(const TensorView& weight, std::vector<double>& x) const {
  reorder(neighbourOrder(config()), x);
  headNorm(weight, x);
  reorder(engineOrder(config()), x);
}

/// x as the arithmetic reads it beside a weight.
std::vector<double> ScalarDecoder::read(const TensorView& w, std::span<const double> x) const {
  std::vector<double> out(x.begin(), x.end());
  if (m_rounding == ScalarRounding::Bf16 && w.dtype == kernels::DType::bf16) roundToBf16(out);
  if (m_rounding == ScalarRounding::Blocks && kernels::dtypeInBlocks(w.dtype)) roundInBlocks(out);
  return out;
}

/// Outputs [begin, begin + count) of a linear step; count < 0: all.
std::vector<double> ScalarDecoder::times(const TensorView& w, const TensorView& bias, std::span<const double> x,
                                         std::int64_t begin, std::int64_t count) const {
  std::vector<double> out(at(count < 0 ? w.shape[0] : count));
  const std::vector<double> in = read(w, x);
  const std::vector<float> shift = widened(bias);
  std::vector<float> copy;
  for (std::size_t o = 0; o < out.size(); ++o)
    out[o] = product(w, begin + static_cast<std::int64_t>(o), in, copy) +
        (shift.empty() ? 0.0 : static_cast<double>(shift[at(begin) + o]));
  return out;
}

/// Adds the heads in outputs [begin, begin + count). norm: for keys and queries; null = the heads are values.
void ScalarDecoder::projectTo(std::vector<ScalarHead>& heads, const TensorView& w, const TensorView& bias,
                              const TensorView* norm, std::span<const double> in, std::int64_t begin,
                              std::int64_t count) const {
  const auto made = [&](const ScalarDecoder& by) {
    std::vector<double> out = by.times(w, bias, in, begin, count);
    if (norm) by.order(*norm, out);
    return out;
  };
  const std::vector<double> all = made(*this), exact = m_rounding == ScalarRounding::None ? all : made(plain());
  const std::size_t dim = at(config().headDim);
  for (std::size_t from = 0; from < all.size(); from += dim) {
    ScalarHead& head = heads.emplace_back();
    head.values.assign(all.begin() + std::ptrdiff_t(from), all.begin() + std::ptrdiff_t(from + dim));
    for (std::size_t i = from; i < from + dim; ++i) head.unsure = std::max(head.unsure, std::abs(all[i] - exact[i]));
  }
}

ScalarRow ScalarDecoder::project(Layer layer, std::span<const double> x) const {
  const LayerWeights& w = m_model.layer(layer);
  const std::vector<double> in = norm(w.inputNorm, x);
  ScalarRow out;
  projectTo(out.k, w.k, w.kBias, &w.kNorm, in, 0, -1);
  projectTo(out.v, w.v, w.vBias, nullptr, in, 0, -1);
  projectTo(out.q, w.q, w.qBias, &w.qNorm, in, 0, -1);
  return out;
}

ScalarRow ScalarDecoder::projectHead(Layer layer, int head, std::span<const double> x) const {
  const LayerWeights& w = m_model.layer(layer);
  const std::int64_t dim = config().headDim, kv = head / (config().heads / config().kvHeads);
  if (config().qkNorm == QkNorm::OfRows) {  // a norm of all heads together needs all of them
    const ScalarRow all = project(layer, x);
    return {{all.k[at(kv)]}, {all.v[at(kv)]}, {all.q[at(head)]}};
  }
  const std::vector<double> in = norm(w.inputNorm, x);
  ScalarRow out;
  projectTo(out.k, w.k, w.kBias, &w.kNorm, in, kv * dim, dim);
  projectTo(out.v, w.v, w.vBias, nullptr, in, kv * dim, dim);
  projectTo(out.q, w.q, w.qBias, &w.qNorm, in, head * dim, dim);
  return out;
}

void ScalarDecoder::turn(Layer layer, std::vector<double>& values, double phase, bool query, double sigma) const {
  const Rope& rope = config().rope(layer);
  const std::vector<double> w = inverseFrequencies(rope, config().headDim, m_length);
  double growth = 1;
  if (query && rope.queryBeta != 0 && phase > 0)
    growth += rope.queryBeta * std::log(1 + std::floor(phase / static_cast<double>(rope.queryEvery)));
  const std::size_t half = at(config().headDim / 2), each = at(config().headDim);
  for (std::size_t begin = 0; begin < values.size(); begin += each)
    for (std::size_t i = 0; i < half; ++i) {
      double &a = values[begin + i], &b = values[begin + half + i];
      const double angle = phase * w[i], damp = std::exp(-0.5 * sigma * w[i] * sigma * w[i]);
      const double scale = growth * damp * (w[i] == 0 ? 1.0 : rope.attentionFactor);
      const double turned = a * std::cos(angle) - b * std::sin(angle);
      b = (a * std::sin(angle) + b * std::cos(angle)) * scale;
      a = turned * scale;
    }
}

std::vector<double> ScalarDecoder::attend(Layer layer, int head, std::span<const double> q, const ScalarSeen& seen,
                                          bool keysTurned, std::vector<double>* shares) const {
  const ModelConfig& c = config();
  const std::size_t dim = at(c.headDim), half = at(c.headDim / 2), rows = seen.phases.size();
  const std::vector<float> sinks = widened(m_model.layer(layer).sinks);
  const std::vector<double> w = inverseFrequencies(c.rope(layer), c.headDim, m_length);
  const double factor = c.rope(layer).attentionFactor, root = std::sqrt(c.scoreDim());
  Turn turn(w);
  std::vector<double> row(dim), scales(half), scores(rows);
  double most = sinks.empty() ? -INFINITY : static_cast<double>(sinks[at(head)]);
  for (std::size_t j = 0; j < rows; ++j) {
    seen.read(j, false, row);
    const double sigma = seen.sigmas.empty() ? 0 : seen.sigmas[j];
    if (j == 0 || (!seen.sigmas.empty() && sigma != seen.sigmas[j - 1]))
      for (std::size_t i = 0; i < half; ++i)
        scales[i] = keysTurned ? 1 : (w[i] == 0 ? 1.0 : factor) * std::exp(-0.5 * sigma * w[i] * sigma * w[i]);
    turn.to(seen.phases[j]);
    scores[j] = turn.dot(q, row, scales) / root;
    if (c.attentionCap != 0) scores[j] = c.attentionCap * std::tanh(scores[j] / c.attentionCap);
    most = std::max(most, scores[j]);
  }
  double sum = sinks.empty() ? 0 : std::exp(static_cast<double>(sinks[at(head)]) - most);
  for (double& score : scores) sum += score = std::exp(score - most);
  std::vector<double> out(dim);
  for (std::size_t j = 0; j < rows; ++j) {
    seen.read(j, true, row);
    scores[j] /= sum;
    for (std::size_t i = 0; i < dim; ++i) out[i] += scores[j] * row[i];
  }
  if (shares) *shares = std::move(scores);
  return out;
}

std::vector<double> ScalarDecoder::forward(const FeedForward& network, std::span<const double> x) const {
  std::vector<double> gate = times(network.gate, network.gateBias, x);
  const std::vector<double> up = times(network.up, network.upBias, x);
  for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gated(config().activation, gate[i], up[i]);
  return times(network.down, network.downBias, gate);
}

/// Weighted sum of the outputs of the chosen experts.
std::vector<double> ScalarDecoder::mixed(const LayerWeights& w, const Middle& middle, const Chosen& chosen) const {
  std::vector<double> scores = middle.experts;
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = std::exp(scores[i] - most);
    if (!config().expertWeightsSum || std::ranges::find(chosen, i) != chosen.end()) sum += scores[i];
  }
  std::vector<double> out(middle.in.size());
  for (const std::size_t expert : chosen) {
    std::vector<double> given = forward(w.experts[expert], middle.in);
    for (double& value : given) value *= scores[expert] / sum;
    add(out, given);
  }
  return out;
}

ScalarDecoder::Middle ScalarDecoder::middle(Layer layer, std::span<const double> attended,
                                            std::span<const double> x) const {
  const LayerWeights& w = m_model.layer(layer);
  Middle out{{x.begin(), x.end()}};
  add(out.x, norm(w.behindAttention, times(w.o, w.oBias, attended)));
  out.in = norm(w.postNorm, out.x);
  if (!w.experts.empty()) out.experts = times(w.router, w.routerBias, out.in);
  return out;
}

std::vector<double> ScalarDecoder::end(Layer layer, const Middle& middle, const Chosen& chosen) const {
  const LayerWeights& w = m_model.layer(layer);
  std::vector<double> out = middle.x;
  add(out, norm(w.behindFeedForward, w.experts.empty() ? forward(w.dense, middle.in) : mixed(w, middle, chosen)));
  return out;
}

/// Sets of experts that the scores may choose: the best ones, where scores count as equal that are no farther apart
/// than `times` their distance from other ones. The first set is that of the scores as they are. One empty set where
/// there are no experts.
std::vector<ScalarDecoder::Chosen> ScalarDecoder::choices(const Middle& middle, const Middle& other,
                                                          double times) const {
  constexpr double kNear = 1e-4;    // in parts of the largest score: sums in another order
  constexpr std::size_t kMost = 8;  // experts among which rounding decides
  if (middle.experts.empty()) return {{}};
  const std::vector<double>& scores = middle.experts;
  double near = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    near = std::max({near, times * std::abs(scores[i] - other.experts[i]), kNear * std::abs(scores[i])});
  Chosen order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const std::size_t used = at(config().expertsUsed);
  const double last = scores[order[used - 1]];
  const auto doubtful = [&](std::size_t expert) { return std::abs(scores[expert] - last) <= near; };
  const auto begin = static_cast<std::size_t>(std::ranges::find_if(order, doubtful) - order.begin());
  std::size_t end = used;
  while (end < order.size() && end < begin + kMost && doubtful(order[end])) ++end;
  std::vector<bool> takes(std::max(end, used) - begin);
  std::fill_n(takes.begin(), used - begin, true);
  std::vector<Chosen> out;
  do {
    Chosen& one = out.emplace_back(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(begin));
    for (std::size_t i = 0; i < takes.size(); ++i)
      if (takes[i]) one.push_back(order[begin + i]);
  } while (std::prev_permutation(takes.begin(), takes.end()));
  return out;
}

std::vector<ScalarOutput> ScalarDecoder::outputs(Layer layer, std::span<const double> attended,
                                                 std::span<const double> x) const {
  const bool rounds = m_rounding != ScalarRounding::None;
  const ScalarDecoder other = plain();
  const Middle mine = middle(layer, attended, x), exact = rounds ? other.middle(layer, attended, x) : mine;
  std::vector<ScalarOutput> out;
  for (const Chosen& chosen : choices(mine, exact, 2)) {
    ScalarOutput& one = out.emplace_back(end(layer, mine, chosen));
    if (!rounds) continue;
    one.unsure = distanceOf(one.values, other.end(layer, exact, chosen));
  }
  return out;
}

bool ScalarDecoder::choosesAlike(Layer layer, const ScalarInput& in, const ScalarInput& other, double times) const {
  return choices(middle(layer, in.attended, in.x), middle(layer, other.attended, other.x), times).size() == 1;
}

ScalarOutput ScalarDecoder::logits(std::span<const double> x, int step) const {
  const std::vector<double> in = norm(m_model.finalNorm(), x), rounded = read(m_model.head(), in);
  const auto capped = [this](double value) {
    return config().logitCap == 0 ? value : config().logitCap * std::tanh(value / config().logitCap);
  };
  ScalarOutput out;
  std::vector<float> copy;
  for (std::int64_t token = 0; token < m_model.head().shape[0]; token += step) {
    out.values.push_back(capped(product(m_model.head(), token, rounded, copy)));
    if (m_rounding != ScalarRounding::None)
      out.unsure = std::max(out.unsure, std::abs(out.values.back() - capped(product(m_model.head(), token, in, copy))));
  }
  return out;
}

}  // namespace kvlab
