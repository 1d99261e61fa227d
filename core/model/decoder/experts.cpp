// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/experts.h"

#include <map>

#include "kernels/backend/staging.h"

namespace kvlab {

void addPart(kernels::LinearArgs& args, const TensorView& w, const TensorView& bias, float* y) {
  args.parts[args.nParts++] = {w.weight(), static_cast<const float*>(bias.data), y};
}

std::vector<ExpertRows> rowsByExpert(const std::vector<std::int32_t>& chosen, const std::vector<float>& weights,
                                     int top) {
  std::map<std::int32_t, ExpertRows> all;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    ExpertRows& own = all[chosen[i]];
    own.expert = chosen[i];
    own.rows.push_back(static_cast<std::int32_t>(i / static_cast<std::size_t>(top)));
    own.weights.push_back(weights[i]);
  }
  std::vector<ExpertRows> out;
  for (auto& [expert, own] : all) out.push_back(std::move(own));
  return out;
}

std::int64_t Experts::scratchWidth(const ModelConfig& c) {
  return c.experts == 0 ? 0 : 3ll * c.hidden + 2ll * c.expertWidth + c.experts;
}

void Experts::allocate(kernels::Backend& backend, const ModelConfig& config, int maxRows) {
  m_config = config;
  if (config.experts == 0) return;
  for (auto* rows : {&m_input, &m_taken, &m_given}) rows->allocate(backend, std::int64_t{maxRows} * config.hidden);
  for (auto* rows : {&m_gate, &m_up}) rows->allocate(backend, std::int64_t{maxRows} * config.expertWidth);
  m_scores.allocate(backend, std::int64_t{maxRows} * config.experts);
}

void Experts::run(kernels::Backend& backend, const LayerWeights& weights, std::int64_t n, float* x,
                  const Linear& linear) {
  for (const ExpertRows& own : choose(backend, weights, n, linear))
    mix(backend, weights.experts[static_cast<std::size_t>(own.expert)], own, x, linear);
}

/// The choice comes to the host, which decides the next computation.
std::vector<ExpertRows> Experts::choose(kernels::Backend& backend, const LayerWeights& weights, std::int64_t n,
                                        const Linear& linear) {
  kernels::LinearArgs scores{.x = input(), .m = n};
  addPart(scores, weights.router, weights.routerBias, m_scores.data());
  linear(scores);
  const auto count = static_cast<std::size_t>(n * m_config.expertsUsed);
  std::vector<std::int32_t> chosen(count);
  std::vector<float> shares(count);
  kernels::Staging staging(backend);
  kernels::RouteArgs route;
  route.scores = m_scores.data();
  route.n = n;
  route.experts = m_config.experts;
  route.top = m_config.expertsUsed;
  route.normalised = m_config.expertWeightsSum;
  route.chosen = staging.out(chosen.data(), count);
  route.weights = staging.out(shares.data(), count);
  backend.ops().route(backend.context(), route);
  staging.finish();
  return rowsByExpert(chosen, shares, m_config.expertsUsed);
}

void Experts::mix(kernels::Backend& backend, const FeedForward& expert, const ExpertRows& own, float* x,
                  const Linear& linear) {
  const auto n = static_cast<std::int64_t>(own.rows.size());
  const std::int64_t hidden = m_config.hidden;
  kernels::Staging staging(backend);
  const std::int32_t* rows = staging.in(own.rows);
  backend.ops().takeRows(backend.context(), {input(), rows, m_taken.data(), n, hidden});
  kernels::LinearArgs up{.x = m_taken.data(), .m = n};
  addPart(up, expert.gate, expert.gateBias, m_gate.data());
  addPart(up, expert.up, expert.upBias, m_up.data());
  up.out = m_gate.data();
  up.function = gateFunction(m_config.activation);
  linear(up);
  kernels::LinearArgs down{.x = m_gate.data(), .m = n};
  addPart(down, expert.down, expert.downBias, m_given.data());
  linear(down);
  backend.ops().mixRows(backend.context(), {m_given.data(), rows, staging.in(own.weights), x, n, hidden});
}

}  // namespace kvlab
