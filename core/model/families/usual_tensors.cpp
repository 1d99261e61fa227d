// SPDX-License-Identifier: Apache-2.0
#include "core/model/families/usual_tensors.h"

namespace kvlab {

using W = LayerWeights;

LayerTensor tensor(std::string suffix, std::vector<std::int64_t> shape, TensorView LayerWeights::*weight) {
  const std::int64_t outputs = shape.front();
  return {std::move(suffix), std::move(shape), {{weight, outputs}}};
}

LayerTensors together(LayerTensors first, const std::vector<LayerTensors>& others) {
  for (const LayerTensors& more : others) first.insert(first.end(), more.begin(), more.end());
  return first;
}

LayerTensors attentionTensors(const ModelConfig& c) {
  const std::int64_t d = c.hidden, q = std::int64_t{c.heads} * c.headDim, kv = std::int64_t{c.kvHeads} * c.headDim;
  LayerTensors out{tensor("self_attn.q_proj.weight", {q, d}, &W::q), tensor("self_attn.k_proj.weight", {kv, d}, &W::k),
                   tensor("self_attn.v_proj.weight", {kv, d}, &W::v), tensor("self_attn.o_proj.weight", {d, q}, &W::o)};
  if (c.attentionBias)
    out = together(out,
                   {{tensor("self_attn.q_proj.bias", {q}, &W::qBias), tensor("self_attn.k_proj.bias", {kv}, &W::kBias),
                     tensor("self_attn.v_proj.bias", {kv}, &W::vBias)}});
  if (c.outputBias) out.push_back(tensor("self_attn.o_proj.bias", {d}, &W::oBias));
  if (c.qkNorm == QkNorm::None) return out;
  const bool head = c.qkNorm == QkNorm::OfHeads;
  out.push_back(tensor("self_attn.q_norm.weight", {head ? c.headDim : q}, &W::qNorm));
  out.push_back(tensor("self_attn.k_norm.weight", {head ? c.headDim : kv}, &W::kNorm));
  return out;
}

LayerTensors feedForwardTensors(const ModelConfig& c) {
  const std::int64_t d = c.hidden, m = c.intermediate;
  LayerTensors out{tensor("mlp.gate_proj.weight", {m, d}, &W::gate), tensor("mlp.up_proj.weight", {m, d}, &W::up),
                   tensor("mlp.down_proj.weight", {d, m}, &W::down)};
  if (c.mlpBias)
    out = together(out,
                   {{tensor("mlp.gate_proj.bias", {m}, &W::gateBias), tensor("mlp.up_proj.bias", {m}, &W::upBias),
                     tensor("mlp.down_proj.bias", {d}, &W::downBias)}});
  return out;
}

LayerTensors usualTensors(const ModelConfig& c, Layer) {
  return together({tensor("input_layernorm.weight", {c.hidden}, &W::inputNorm),
                   tensor("post_attention_layernorm.weight", {c.hidden}, &W::postNorm)},
                  {attentionTensors(c), feedForwardTensors(c)});
}

}  // namespace kvlab
