// SPDX-License-Identifier: Apache-2.0
#include "core/selftest/dense_run.h"

#include <algorithm>
#include <numeric>

#include "core/model/decoder/backend_status.h"
#include "core/model/decoder/sampler.h"

namespace kvlab {
namespace {

constexpr std::int64_t kScoredRows = 32;  // logits of so many tokens at once

}  // namespace

Result<DenseRun> DenseRun::create(std::shared_ptr<const PlacedWeights> weights, kernels::Backend& backend,
                                  std::span<const std::int32_t> ids, std::int32_t firstPhase) {
  const ModelConfig& config = weights->model().config();
  const auto n = static_cast<std::int32_t>(ids.size());
  DenseRun out;
  out.m_transformer = KV_TRY(Transformer::create(std::move(weights), backend, firstPhase + n, n));
  out.m_transformer->rotary().index(Phase(firstPhase + n - 1));
  out.m_transformer->rotary().reach(firstPhase + n);
  out.m_pool = KV_TRY(RowPool::create(
      backend, {config.kvHeads, config.headDim, kernels::DType::f32, kernels::DType::f32}, std::max(n, 1)));
  out.m_ids.assign(ids.begin(), ids.end());
  out.m_places.resize(ids.size());
  std::iota(out.m_places.begin(), out.m_places.end(), 0);
  out.m_begin.resize(ids.size());
  for (const std::int32_t place : out.m_places) {
    out.m_phases.push_back(firstPhase + place);
    out.m_end.push_back(place + 1);
    out.m_tags.push_back(static_cast<std::uint64_t>(place));
  }
  for (int l = 0; l < config.layers; ++l)
    out.m_windows.push_back(config.windowPerLayer.empty() ? config.slidingWindow : config.windowPerLayer[at(l)]);
  return out;
}

void DenseRun::layer(Layer layer, std::vector<float>& x) {
  const std::int32_t window = m_windows[at(layer)];
  for (std::int32_t i = 0; i < count(); ++i) m_begin[at(i)] = window > 0 ? std::max(0, i + 1 - window) : 0;
  LayerPass pass;
  pass.pool = m_pool.data();
  pass.format = m_pool.format();
  pass.slots = pass.write = m_places.data();
  pass.phases = pass.phase = m_phases.data();
  pass.rows = count();
  pass.tags = m_tags.data();
  pass.rowBegin = m_begin.data();
  pass.rowEnd = m_end.data();
  m_transformer->layer(layer, {&pass, 1}, count(), x.data());
}

void DenseRun::run() {
  const ModelConfig& config = m_transformer->model().config();
  std::vector<float> x(m_ids.size() * at(config.hidden));
  m_given.clear();
  m_transformer->embed(m_ids.data(), count(), x.data());
  for (const Layer l : idRange<Layer>(0, config.layers)) {
    m_given.push_back(x);
    layer(l, x);
  }
  m_given.push_back(std::move(x));
}

std::vector<float> DenseRun::attended(Layer which) {
  const ModelConfig& config = m_transformer->model().config();
  const std::int64_t width = std::int64_t{config.heads} * config.headDim;
  std::vector<float> out;
  m_transformer->setWitness([&](Layer, std::size_t, const LayerPass&, std::int64_t n, const float* attended) {
    out.assign(attended + (n - 1) * width, attended + n * width);
  });
  std::vector<float> x = m_given[at(which)];
  layer(which, x);
  m_transformer->setWitness({});
  return out;
}

Result<std::vector<double>> DenseRun::losses(Layer from) {
  const ModelConfig& config = m_transformer->model().config();
  std::vector<float> x = m_given[at(from)];
  for (const Layer l : idRange<Layer>(from.value(), config.layers)) layer(l, x);
  std::vector<double> out;
  std::vector<float> logits(at(std::min(kScoredRows, count()) * config.vocab));
  for (std::int64_t begin = 0; begin + 1 < count(); begin += kScoredRows) {
    const std::int64_t n = std::min(kScoredRows, count() - 1 - begin);
    m_transformer->logits(x.data() + begin * config.hidden, n, logits.data());
    for (std::int64_t i = 0; i < n; ++i)
      out.push_back(negativeLogLikelihood(std::span(logits).subspan(at(i * config.vocab), at(config.vocab)),
                                          TokenId(m_ids[at(begin + i + 1)])));
  }
  KV_TRY(backendStatus(m_transformer->backend(), "scoring a text"));
  return out;
}

Result<std::vector<float>> DenseRun::logits() {
  const ModelConfig& config = m_transformer->model().config();
  std::vector<float> out(at(config.vocab));
  m_transformer->logits(m_given.back().data() + (count() - 1) * config.hidden, 1, out.data());
  KV_TRY(backendStatus(m_transformer->backend(), "running a text"));
  return out;
}

}  // namespace kvlab
