// SPDX-License-Identifier: Apache-2.0
#include "core/model/families/gemma.h"

#include <cmath>

#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {

namespace {
constexpr double kMostScale = 1e6;
}

Status readCap(const JsonFields& in, const char* key, double& cap) {
  if (!in.has(key)) return ok();
  return in.number(key, cap, 1e-3, kMostScale);
}

Status readGemma(const JsonFields& in, ModelConfig& c) {
  c.normOffset = 1;
  c.normBehind = true;
  c.embeddingScale = std::sqrt(static_cast<double>(c.hidden));
  if (!in.has("hidden_activation")) c.activation = Activation::GeluTanh;
  KV_TRY(in.number("query_pre_attn_scalar", c.queryDim, 1e-3, kMostScale, 256.0));
  KV_TRY(readCap(in, "final_logit_softcapping", c.logitCap));
  KV_TRY(readAttentionBias(in, c));
  KV_TRY(refuseFlag(in, "use_bidirectional_attention"));
  return readWindow(in, c, 4096);
}

LayerTensors gemmaTensors(const ModelConfig& c, Layer) {
  using W = LayerWeights;
  return together({tensor("input_layernorm.weight", {c.hidden}, &W::inputNorm),
                   tensor("post_attention_layernorm.weight", {c.hidden}, &W::behindAttention),
                   tensor("pre_feedforward_layernorm.weight", {c.hidden}, &W::postNorm),
                   tensor("post_feedforward_layernorm.weight", {c.hidden}, &W::behindFeedForward)},
                  {attentionTensors(c), feedForwardTensors(c)});
}

}  // namespace kvlab
