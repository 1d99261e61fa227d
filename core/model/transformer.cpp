// SPDX-License-Identifier: Apache-2.0
#include "core/model/transformer.h"

#include <cmath>

namespace kvlab {
namespace {

ModelConfig withPhases(ModelConfig config, std::int32_t phases) {
  config.maxPositions = phases;
  return config;
}

std::size_t size(std::int64_t rows, std::int64_t width) {
  return static_cast<std::size_t>(rows * width);
}

}  // namespace

Transformer::Transformer(std::shared_ptr<const Model> model, const kernels::OpTable& ops,
                         kernels::Context context, std::int32_t maxPhases, int maxRows, bool keysRotated)
    : m_model(std::move(model)),
      m_ops(ops),
      m_context(context),
      m_rotary(withPhases(m_model->config(), maxPhases)),
      m_maxRows(maxRows),
      m_keysRotated(keysRotated) {
  const ModelConfig& c = m_model->config();
  m_norm.resize(size(maxRows, c.hidden));
  m_q.resize(size(maxRows, c.heads * c.headDim));
  m_attention.resize(m_q.size());
  m_k.resize(size(maxRows, c.kvHeads * c.headDim));
  m_v.resize(m_k.size());
  m_gate.resize(size(maxRows, c.intermediate));
  m_up.resize(m_gate.size());
  for (int l = 0; l < c.layers; ++l) {
    const LayerWeights& w = m_model->layer(l);
    m_biases.push_back({widened(w.qBias), widened(w.kBias), widened(w.vBias), widened(w.oBias)});
  }
}

void Transformer::embed(std::span<const TokenId> tokens, float* x) {
  std::vector<std::int32_t> ids;
  ids.reserve(tokens.size());
  for (TokenId token : tokens) ids.push_back(token.value());
  const TensorView& table = m_model->embed();
  m_ops.embedding(m_context, {table.data, table.dtype, ids.data(), x,
                              static_cast<std::int64_t>(ids.size()), hidden(), 1.0f});
}

void Transformer::normed(const TensorView& weight, std::int64_t n, const float* x) {
  kernels::RmsnormArgs args;
  args.x = x;
  args.weight = weight.data;
  args.weightType = weight.dtype;
  args.y = m_norm.data();
  args.rows = n;
  args.dim = hidden();
  args.eps = static_cast<float>(m_model->config().rmsEps);
  m_ops.rmsnorm(m_context, args);
}

void Transformer::headNorm(const TensorView& weight, std::int64_t n, int heads, float* x) {
  if (!weight) return;
  kernels::RmsnormArgs args;
  args.x = args.y = x;
  args.weight = weight.data;
  args.weightType = weight.dtype;
  args.rows = n * heads;
  args.dim = m_model->config().headDim;
  args.eps = static_cast<float>(m_model->config().rmsEps);
  m_ops.rmsnorm(m_context, args);
}

void Transformer::linear(const TensorView& w, const std::vector<float>& bias, std::int64_t n,
                         const float* x, float* y) {
  kernels::MatmulArgs args;
  args.x = x;
  args.w = w.data;
  args.wType = w.dtype;
  args.bias = bias.empty() ? nullptr : bias.data();
  args.y = y;
  args.m = n;
  args.n = w.shape[0];
  args.k = w.shape[1];
  m_ops.matmul(m_context, args);
}

void Transformer::projectTo(int l, std::int64_t n, const float* x, float* k, float* v) {
  const LayerWeights& w = m_model->layer(l);
  const Biases& b = m_biases[static_cast<std::size_t>(l)];
  normed(w.inputNorm, n, x);
  linear(w.k, b.k, n, m_norm.data(), k);
  linear(w.v, b.v, n, m_norm.data(), v);
  headNorm(w.kNorm, n, m_model->config().kvHeads, k);
}

void Transformer::project(int l, const LayerPass& pass, std::int64_t n, const float* x) {
  projectTo(l, n, x, m_k.data(), m_v.data());
  if (!pass.write) return;
  const ModelConfig& c = m_model->config();
  if (m_keysRotated) m_ops.rope(m_context, {m_k.data(), pass.phase, m_rotary.data(), n, c.kvHeads, c.headDim, 0});
  kernels::WriteRowsArgs args;
  args.pool = pass.pool;
  args.fmt = pass.format;
  args.k = m_k.data();
  args.v = m_v.data();
  args.tags = pass.tags;
  args.slots = pass.write;
  args.n = n;
  m_ops.writeRows(m_context, args);
}

void Transformer::attend(int l, const LayerPass& pass, std::int64_t n) {
  const ModelConfig& c = m_model->config();
  const LayerWeights& w = m_model->layer(l);
  linear(w.q, m_biases[static_cast<std::size_t>(l)].q, n, m_norm.data(), m_q.data());
  headNorm(w.qNorm, n, c.heads, m_q.data());
  m_ops.rope(m_context, {m_q.data(), pass.phase, m_rotary.data(), n, c.heads, c.headDim, 0});

  kernels::AttentionArgs args;
  args.pool = pass.pool;
  args.fmt = pass.format;
  args.keysRotated = m_keysRotated;
  args.slots = pass.slots.data();
  args.phaseIndex = pass.phases.data();
  args.rows = static_cast<std::int64_t>(pass.slots.size());
  args.rotaryTable = m_rotary.data();
  args.queries = m_q.data();
  args.nQueries = n;
  args.queryHeads = c.heads;
  args.rowBegin = pass.rowBegin;
  args.rowEnd = pass.rowEnd;
  args.selfSlot = pass.selfSlot;
  args.selfPhaseIndex = pass.selfSlot ? pass.phase : nullptr;
  args.scale = 1.0f / std::sqrt(static_cast<float>(c.headDim));
  args.out = m_attention.data();
  args.newestMass = pass.newestMass;
  args.newestPerHead = pass.newestPerHead;
  args.receivedMass = pass.receivedMass;
  m_ops.attention(m_context, args);
}

void Transformer::feedForward(int l, std::int64_t n, float* x) {
  const LayerWeights& w = m_model->layer(l);
  static const std::vector<float> kNoBias;
  normed(w.postNorm, n, x);
  linear(w.gate, kNoBias, n, m_norm.data(), m_gate.data());
  linear(w.up, kNoBias, n, m_norm.data(), m_up.data());
  kernels::SwigluArgs swiglu;
  swiglu.gate = m_gate.data();
  swiglu.up = m_up.data();
  swiglu.out = m_gate.data();
  swiglu.rows = n;
  swiglu.dim = m_model->config().intermediate;
  m_ops.swiglu(m_context, swiglu);
  linear(w.down, kNoBias, n, m_gate.data(), m_norm.data());
  m_ops.add(m_context, {x, m_norm.data(), x, n * hidden()});
}

void Transformer::layer(int l, const LayerPass& pass, std::int64_t n, float* x) {
  project(l, pass, n, x);
  attend(l, pass, n);
  linear(m_model->layer(l).o, m_biases[static_cast<std::size_t>(l)].o, n, m_attention.data(),
         m_norm.data());
  m_ops.add(m_context, {x, m_norm.data(), x, n * hidden()});
  feedForward(l, n, x);
}

void Transformer::logits(const float* x, std::int64_t n, float* out) {
  for (std::int64_t done = 0; done < n; done += m_maxRows) {
    const std::int64_t rows = std::min<std::int64_t>(m_maxRows, n - done);
    normed(m_model->finalNorm(), rows, x + done * hidden());
    static const std::vector<float> kNoBias;
    linear(m_model->head(), kNoBias, rows, m_norm.data(), out + done * m_model->config().vocab);
  }
}

}  // namespace kvlab
