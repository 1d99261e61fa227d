// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "core/api/json_values.h"
#include "core/explain/explainer.h"
#include "kernels/backend/backend.h"
#include "kernels/numerics.h"

namespace kvlab {
namespace {

constexpr double kMostNoise = 0.2;  // middle error of a layer that may be arithmetic

/// Another arithmetic that runs here.
struct OtherArithmetic {
  const char* numerics;
  bool (*serves)(kernels::DType weights);
  const char* activations;  // type of what weights are multiplied with
  const char* text;
};
constexpr OtherArithmetic kArithmetics[] = {
    {kernels::kQ8NumericsId, kernels::dtypeInBlocks, "int8",
     "the engine multiplies with 8-bit activations: a difference of arithmetic, which grows with depth"},
    {kernels::kBf16NumericsId, [](kernels::DType weights) { return weights == kernels::DType::bf16; }, "bf16",
     "the engine multiplies with bf16 activations: a difference of arithmetic, which grows with depth"},
};

bool finiteFigure(float x) { return std::isfinite(x); }

double middleOf(std::vector<float> values, double part = 0.5) {
  std::erase_if(values, [](float x) { return !finiteFigure(x); });
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

}  // namespace

RowRounding Explainer::rounding() const {
  std::vector<double> phases(m_ids.size());
  for (std::size_t i = 0; i < phases.size(); ++i) phases[i] = static_cast<double>(i);
  const RowPlaces& places = m_places.front();
  for (std::size_t row = 0; row < places.tokens.size(); ++row)
    if (places.tokens[row] >= 0) phases[at(places.tokens[row])] = places.phases[row];
  return RowRounding(config(), m_reading[kKeys], m_reading[kValues], m_type[kKeys], m_type[kValues], std::move(phases),
                     static_cast<std::int64_t>(m_ids.size()));
}

Result<RowBounds> Explainer::boundsOf(kernels::Backend* backend, const StoredType* between, int layers) {
  TokenPass pass = passOver(m_ids);
  if (backend) pass.backend = backend;
  TokenRows some;
  some.phases = m_exact.phases;
  some.keys.assign(m_exact.keys.begin(), m_exact.keys.begin() + layers);
  some.values.assign(m_exact.values.begin(), m_exact.values.begin() + layers);
  return rowBounds(pass, some, rounding(), between, backend == nullptr);
}

void Explainer::allowNoiseOf(std::size_t layers) {
  for (std::size_t i = 0; m_bounds.wide && i < layers; ++i) {
    compareLayer(i, m_exact);
    for (const std::size_t side : {kKeys, kValues}) {
      std::vector<std::vector<float>>& all = m_reading[side].source == Side::Keys ? m_bounds.keys : m_bounds.values;
      const int own = ownOf(i, side);
      if (at(own) < all.size()) allowNoise(own, side == kKeys ? m_layers[i].keys : m_layers[i].values, all[at(own)]);
    }
  }
}

/// Share of heads of rows above their bounds in the lowest layer.
double Explainer::wrongIn(const RowBounds& bounds) const {
  const ExplainedLayer& lowest = m_layers.front();
  const std::size_t heads = at(config().kvHeads);
  std::size_t wrong = 0, all = 0;
  for (std::size_t row = 0; row < lowest.tokens.size(); ++row) {
    if (lowest.tokens[row] < 0) continue;
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t token = at(lowest.tokens[row]) * heads + head;
      wrong += lowest.keys[row * heads + head] > bounds.keys[at(lowest.own)][token];
      wrong += lowest.values[row * heads + head] > bounds.values[at(lowest.own)][token];
      all += 2;
    }
  }
  return all > 0 ? static_cast<double>(wrong) / static_cast<double>(all) : 0;
}

Status Explainer::bound() {
  const int lowest = m_layers.front().own + 1;
  const StoredType *f32 = storedType("f32"), *f16 = storedType("f16"), *bf16 = storedType("bf16");
  const StoredType*& between = m_between;
  for (const StoredType* type : m_type)
    if (type && type != f32 && between != bf16) between = type == bf16 ? bf16 : f16;
  m_bounds = KV_TRY(boundsOf(nullptr, between, lowest));
  allowNoiseOf(1);
  compareLayer(0, m_exact);
  std::unique_ptr<kernels::Backend>& other = m_arithmetic;
  const ExplainedLayer& first = m_layers.front();
  const double noise = std::max(middleOf(first.keys), middleOf(first.values));
  if (wrongIn(m_bounds) > 0.3 && noise < kMostNoise) {
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const int threads = m_session->manifest().threads > 0 ? m_session->manifest().threads : cores;
    const kernels::DType weights = m_session->model().layer(Layer(0)).q.dtype;
    for (const OtherArithmetic& one : kArithmetics) {
      if (other || !one.serves(weights)) continue;
      std::unique_ptr<kernels::Backend> backend = kernels::makeCpuBackend(threads, one.numerics);
      if (!backend) continue;
      const RowBounds withIt = KV_TRY(boundsOf(backend.get(), between, lowest));
      if (wrongIn(withIt) >= 0.1) continue;
      other = std::move(backend);
      const bool ofRows = between && between->name == one.activations;  // rows in bf16 are computed in bf16
      if (!ofRows) m_more.push_back({"arithmetic", {{"activations", one.activations}}, one.text, 0});
    }
    if (!other) {
      // Noise that no arithmetic here makes, of about the same size in all heads of all rows.
      std::vector<float> ratios;
      for (std::size_t i = 0; i < first.keys.size(); ++i)
        ratios.push_back(std::max(first.keys[i] / first.keyBounds[i], first.values[i] / first.valueBounds[i]));
      const double most = middleOf(ratios, 0.95), usual = middleOf(ratios);
      if (noise < 0.06 && usual > 1 && most < 4 * usual) {
        m_noise = 1.5 * most;
        m_more.push_back({"arithmetic",
                          {{"noise", noise}},
                          "the engine computes with other arithmetic: all rows differ by about " +
                              numberWords(noise, 2) + ", without a pattern",
                          0});
      }
    }
  }
  m_bounds = KV_TRY(boundsOf(other.get(), between, static_cast<int>(m_exact.keys.size())));
  allowNoiseOf(m_layers.size());
  for (std::vector<std::vector<float>>* side : {&m_bounds.keys, &m_bounds.values})
    for (std::vector<float>& layer : *side)
      for (float& bound : layer) bound *= static_cast<float>(m_noise);
  return ok();
}

/// Rows of another text travelled otherwise: they have the bounds that they had there. A key that was turned to another
/// place was rounded once more.
Status Explainer::boundKept(const KeptPass& kept) {
  TokenPass pass = kept.pass;
  pass.stored = {};
  const TokenRows rows = KV_TRY(tokenRows(pass));
  if (m_arithmetic) pass.backend = m_arithmetic.get();
  const RowBounds there = KV_TRY(rowBounds(pass, rows, rounding(), m_between, !m_arithmetic));
  const std::size_t heads = at(config().kvHeads);
  const bool blocks = m_type[kKeys] && m_type[kKeys]->block > 0;
  for (std::size_t layer = 0; layer < m_bounds.keys.size(); ++layer)
    for (std::size_t i = 0; i < kept.rows.size() * heads; ++i) {
      const std::size_t token = i / heads, from = at(kept.rows[token]) * heads + i % heads;
      const bool again = blocks && kept.rows[token] != static_cast<std::int32_t>(token);
      const auto factor = static_cast<float>(m_noise);
      float &key = m_bounds.keys[layer][i], &value = m_bounds.values[layer][i];
      key = std::max(key, (again ? 2 : 1) * factor * there.keys[layer][from]);
      value = std::max(value, factor * there.values[layer][from]);
    }
  return ok();
}

void Explainer::compare(const TokenRows& ours) {
  for (std::size_t i = 0; i < m_layers.size(); ++i) compareLayer(i, ours);
}

void Explainer::compareLayer(std::size_t index, const TokenRows& ours) {
  ExplainedLayer& out = m_layers[index];
  const RowPlaces& places = m_places[index];
  const auto length = static_cast<std::int64_t>(m_ids.size());
  const int dim = config().headDim;
  const std::size_t heads = at(config().kvHeads);
  out.tokens = places.tokens;
  out.positions.clear();
  for (std::size_t row = 0; row < places.tokens.size(); ++row)
    out.positions.push_back(places.tokens[row] < 0 ? -1 : static_cast<std::int32_t>(std::lround(places.phases[row])));
  const auto side = [&](std::size_t s, std::vector<float>& theirs, std::vector<float>& exact, std::vector<float>& typed,
                        std::vector<float>& figures, std::vector<float>& limits) {
    const std::vector<std::vector<float>>& bounds = m_reading[s].source == Side::Keys ? m_bounds.keys : m_bounds.values;
    if (theirs.empty()) theirs = m_reading[s].undone(shapeOf(index), rowsOf(index, s));
    exact = expectedRows(m_reading[s], config(), ours, ownOf(index, s), places, length);
    typed = exact;
    if (at(ownOf(index, s)) <
        m_bounds.typed.keys.size()) {  // rounding moves rows of a fault as it moves the right ones
      const auto right = expectedRows(m_reading[s], config(), m_exact, ownOf(index, s), places, length);
      const auto rounded = expectedRows(m_reading[s], config(), m_bounds.typed, ownOf(index, s), places, length);
      for (std::size_t i = 0; i < typed.size(); ++i) typed[i] += rounded[i] - right[i];
    }
    figures = relativeErrors(theirs, exact, dim);
    limits.assign(figures.size(), std::numeric_limits<float>::infinity());
    if (at(ownOf(index, s)) >= bounds.size()) return;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      const std::int32_t token = places.tokens[i / heads];
      const std::size_t head = m_reading[s].headMap.empty() ? i % heads : at(m_reading[s].headMap[i % heads]);
      if (token >= 0) limits[i] = bounds[at(ownOf(index, s))][at(token) * heads + head];
    }
  };
  side(kKeys, out.theirKeys, out.exactKeys, out.typedKeys, out.keys, out.keyBounds);
  side(kValues, out.theirValues, out.exactValues, out.typedValues, out.values, out.valueBounds);
}

}  // namespace kvlab
