// SPDX-License-Identifier: Apache-2.0
// Mistral, Ministral and Mixtral.
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

/// Mistral: one window in every layer, or none. The text part of Mistral 3 may be one.
Status readMistral(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readWindow(in, c, 4096));
  if (in.has("layer_types")) KV_TRY(readLayerTypes(in, c, {}));
  else windowEverywhere(c);
  return readRope(in, c);
}

/// Ministral: Mistral whose layers say whether they have the window.
Status readMinistral(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readWindow(in, c, 4096));
  KV_TRY(readLayerTypes(in, c, [&](int) { return c.slidingWindow > 0; }));
  return readRope(in, c);
}

/// Ministral 3: YaRN, and queries that grow with their position.
constexpr const char* kMinistral3Defaults =
    R"({"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 262144,
  "rms_norm_eps": 1e-5})";
constexpr const char* kMinistral3Rope = R"({"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
  "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0, "mscale_all_dim": 1.0,
  "mscale": 1.0, "llama_4_scaling_beta": 0.1})";

Status readMinistral3(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readWindow(in, c, 0));
  windowEverywhere(c);
  if (in.has("rope_parameters") || in.has("rope_scaling")) return readRope(in, c);
  nlohmann::json usual = in.json();
  usual["rope_parameters"] = nlohmann::json::parse(kMinistral3Rope);
  return readRope(in.inside(usual), c);
}

/// Mixtral: Mistral with experts in every layer, two of them for a token.
Status readMixtral(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readWindow(in, c, 0));
  windowEverywhere(c);
  KV_TRY(readExperts(in, c, "num_local_experts"));
  c.expertWidth = c.intermediate;
  return readRope(in, c, 1e6);
}

LayerTensors mixtralTensors(const ModelConfig& c, Layer) {
  return together(normTensors(c), {attentionTensors(c), expertTensors(c, {"block_sparse_moe.", "w1", "w3", "w2"})});
}

}  // namespace

Family makeMistral() {
  return {.name = "mistral", .types = {"mistral3"}, .read = readMistral, .tensors = usualTensors};
}
Family makeMinistral() { return {.name = "ministral", .read = readMinistral, .tensors = usualTensors}; }
Family makeMinistral3() {
  return {.name = "ministral3", .defaults = kMinistral3Defaults, .read = readMinistral3, .tensors = usualTensors};
}
Family makeMixtral() {
  return {.name = "mixtral",
          .defaults = R"({"rms_norm_eps": 1e-5, "num_key_value_heads": 8, "num_local_experts": 8,
                          "num_experts_per_tok": 2, "max_position_embeddings": 131072})",
          .read = readMixtral,
          .tensors = mixtralTensors};
}

}  // namespace kvlab
