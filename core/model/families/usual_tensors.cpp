// SPDX-License-Identifier: Apache-2.0
#include "core/model/families/usual_tensors.h"

namespace kvlab {

using W = LayerWeights;

LayerTensor::Place placed(TensorView LayerWeights::*weight, std::int64_t outputs) {
  return {[weight](LayerWeights& w) -> TensorView& { return w.*weight; }, outputs};
}

LayerTensor::Place placed(TensorView FeedForward::*weight, std::int64_t outputs, int expert) {
  return {[weight, expert](LayerWeights& w) -> TensorView& {
            return (expert < 0 ? w.dense : w.experts[static_cast<std::size_t>(expert)]).*weight;
          },
          outputs};
}

LayerTensor tensor(std::string suffix, std::vector<std::int64_t> shape, TensorView LayerWeights::*weight) {
  const std::int64_t outputs = shape.front();
  return {std::move(suffix), std::move(shape), {placed(weight, outputs)}};
}

LayerTensor denseTensor(std::string suffix, std::vector<std::int64_t> shape, TensorView FeedForward::*weight) {
  const std::int64_t outputs = shape.front();
  return {std::move(suffix), std::move(shape), {placed(weight, outputs)}};
}

LayerTensor expertTensor(std::string suffix, std::vector<std::int64_t> shape, int expert,
                         TensorView FeedForward::*weight) {
  const std::int64_t outputs = shape.front();
  return {std::move(suffix), std::move(shape), {placed(weight, outputs, expert)}};
}

LayerTensor stackedTensor(std::string suffix, std::vector<std::int64_t> shape, TensorView FeedForward::*weight) {
  LayerTensor out{std::move(suffix), shape, {}, {shape.begin() + 1, shape.end()}};
  for (int expert = 0; expert < shape[0]; ++expert) out.places.push_back(placed(weight, shape[1], expert));
  out.flat[0] *= shape[0];
  return out;
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
  using F = FeedForward;
  const std::int64_t d = c.hidden, m = c.intermediate;
  LayerTensors out{denseTensor("mlp.gate_proj.weight", {m, d}, &F::gate),
                   denseTensor("mlp.up_proj.weight", {m, d}, &F::up),
                   denseTensor("mlp.down_proj.weight", {d, m}, &F::down)};
  if (c.mlpBias)
    out = together(
        out,
        {{denseTensor("mlp.gate_proj.bias", {m}, &F::gateBias), denseTensor("mlp.up_proj.bias", {m}, &F::upBias),
          denseTensor("mlp.down_proj.bias", {d}, &F::downBias)}});
  return out;
}

LayerTensors expertTensors(const ModelConfig& c, const ExpertNames& names) {
  using F = FeedForward;
  const std::int64_t d = c.hidden, m = c.expertWidth;
  const std::string front = names.block;
  LayerTensors out{tensor(front + "gate.weight", {c.experts, d}, &W::router)};
  for (int e = 0; e < c.experts; ++e) {
    const std::string expert = front + "experts." + std::to_string(e) + ".";
    out.push_back(expertTensor(expert + names.gate + ".weight", {m, d}, e, &F::gate));
    out.push_back(expertTensor(expert + names.up + ".weight", {m, d}, e, &F::up));
    out.push_back(expertTensor(expert + names.down + ".weight", {d, m}, e, &F::down));
  }
  return out;
}

LayerTensors normTensors(const ModelConfig& c) {
  return {tensor("input_layernorm.weight", {c.hidden}, &W::inputNorm),
          tensor("post_attention_layernorm.weight", {c.hidden}, &W::postNorm)};
}

LayerTensors usualTensors(const ModelConfig& c, Layer) {
  return together(normTensors(c), {attentionTensors(c), feedForwardTensors(c)});
}

}  // namespace kvlab
