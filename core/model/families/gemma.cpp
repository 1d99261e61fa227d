// SPDX-License-Identifier: Apache-2.0
// Gemma 2 and 3, with the parts that both share.
#include <cmath>

#include "core/model/families/family.h"
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

constexpr double kMostScale = 1e6;

/// A soft cap; a key that is absent or null means none.
Status readCap(const JsonFields& in, const char* key, double& cap) {
  if (!in.has(key)) return ok();
  return in.number(key, cap, 1e-3, kMostScale);
}

/// Norms, activation, scales, the cap of logits, and the width of the window.
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

/// Gemma 2: four norms of 1 + w, soft caps, every other layer with a window.
constexpr const char* kGemma2Defaults = R"({"vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216,
  "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
  "max_position_embeddings": 8192, "tie_word_embeddings": true, "sliding_window": 4096,
  "final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0, "bos_token_id": 2, "eos_token_id": 1})";

Status readGemma2(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readGemma(in, c));
  KV_TRY(readCap(in, "attn_logit_softcapping", c.attentionCap));
  KV_TRY(readLayerTypes(in, c, [](int layer) { return layer % 2 == 0; }));
  return readRope(in, c);
}

/// Gemma 3, its text part: as Gemma 2, but without the caps, with norms of q and k. Five layers with a window and a
/// rotary base of their own alternate with one layer without a window.
constexpr const char* kGemma3Defaults = R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
  "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
  "max_position_embeddings": 131072, "tie_word_embeddings": true, "sliding_window": 4096, "bos_token_id": 2,
  "eos_token_id": 1})";

Status readGemma3(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readGemma(in, c));
  c.qkNorm = QkNorm::OfHeads;
  int pattern = 6;
  KV_TRY(in.number("sliding_window_pattern", pattern, 1, 1 << 20, 6));
  const auto sliding = KV_TRY(readLayerTypes(in, c, [&](int layer) { return (layer + 1) % pattern != 0; }));
  return readRopesByType(in, c, sliding, {.full = 1e6, .sliding = 1e4, .localKey = "rope_local_base_freq"});
}

}  // namespace

Family makeGemma2() {
  return {.name = "gemma2",
          .activation = "hidden_activation",
          .defaults = kGemma2Defaults,
          .read = readGemma2,
          .tensors = gemmaTensors};
}
Family makeGemma3() {
  return {.name = "gemma3",
          .types = {"gemma3_text"},
          .activation = "hidden_activation",
          .defaults = kGemma3Defaults,
          .read = readGemma3,
          .tensors = gemmaTensors};
}

}  // namespace kvlab
