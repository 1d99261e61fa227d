// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/config.h"

#include <algorithm>
#include <filesystem>

#include "core/model/files/json_fields.h"
#include "core/model/files/rope_config.h"
#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr JsonLimits kLimits{.depth = 32, .bytes = std::size_t{16} << 20, .uniqueKeys = false};
constexpr int kMaxDim = 1 << 20;
constexpr int kMaxVocab = 1 << 24;
constexpr int kMaxPosition = 1 << 30;

Status readType(const JsonFields& in, ModelConfig& c) {
  c.type = KV_TRY(in.text("model_type"));
  for (const char* known : {"llama", "mistral", "qwen2", "qwen3"})
    if (c.type == known) return ok();
  return in.bad("model_type", "is not an architecture known here", "use a llama, mistral, qwen2 or qwen3 checkpoint");
}

Status readShape(const JsonFields& in, ModelConfig& c) {
  const bool q3 = c.type == "qwen3";
  KV_TRY(in.number("hidden_size", c.hidden, 1, kMaxDim));
  KV_TRY(in.number("num_hidden_layers", c.layers, 1, 4096));
  KV_TRY(in.number("num_attention_heads", c.heads, 1, 65536));
  KV_TRY(in.number("intermediate_size", c.intermediate, 1, kMaxDim * 4));
  KV_TRY(in.number("vocab_size", c.vocab, 1, kMaxVocab));
  KV_TRY(in.number("num_key_value_heads", c.kvHeads, 1, 65536, c.heads));
  KV_TRY(in.number("max_position_embeddings", c.maxPositions, 1, kMaxPosition, 2048));
  KV_TRY(in.number("head_dim", c.headDim, 2, 4096, q3 ? 128 : std::max(c.hidden / c.heads, 1)));
  if (c.heads % c.kvHeads != 0)
    return in.bad("num_key_value_heads", "does not divide num_attention_heads " + std::to_string(c.heads));
  if (!in.has("head_dim") && !q3 && c.hidden % c.heads != 0)
    return in.bad("hidden_size", "is not a multiple of num_attention_heads " + std::to_string(c.heads));
  if (c.headDim % 2 != 0) return in.bad("head_dim", "is " + std::to_string(c.headDim) + ", not even");
  return ok();
}

Status readArithmetic(const JsonFields& in, ModelConfig& c) {
  KV_TRY(in.number("rms_norm_eps", c.rmsEps, 0.0, 1.0, 1e-6));
  auto act = KV_TRY(in.text("hidden_act", "silu"));
  if (act != "silu" && act != "swish") return in.bad("hidden_act", "is not implemented", "use a checkpoint with silu");
  KV_TRY(in.flag("tie_word_embeddings", c.tieEmbeddings, false));
  bool bias = false;
  if (c.type == "llama" || c.type == "qwen3") KV_TRY(in.flag("attention_bias", bias, false));
  c.attentionBias = bias || c.type == "qwen2";
  c.outputBias = bias;
  c.qkNorm = c.type == "qwen3";
  return ok();
}

/// Keys whose presence means arithmetic that is not implemented here.
Status refuseUnknownArithmetic(const JsonFields& in) {
  bool mlpBias = false;
  KV_TRY(in.flag("mlp_bias", mlpBias, false));
  if (mlpBias) return in.bad("mlp_bias", "is not implemented", "use a checkpoint without it");
  double partial = 1;
  KV_TRY(in.number("partial_rotary_factor", partial, 0.0, 1.0, 1.0));
  if (partial != 1) return in.bad("partial_rotary_factor", "is not implemented", "use a checkpoint with 1");
  if (in.has("quantization_config"))
    return in.bad("quantization_config", "means weights in a packed format", "use the f32, f16 or bf16 checkpoint");
  return ok();
}

Status readLayerTypes(const JsonFields& in, ModelConfig& c) {
  const json& types = in.json().at("layer_types");
  if (!types.is_array() || types.size() != static_cast<std::size_t>(c.layers))
    return in.bad("layer_types", "does not name each of " + std::to_string(c.layers) + " layers");
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool sliding = types[i] == "sliding_attention";
    if (!sliding && types[i] != "full_attention")
      return in.bad("layer_types", "has " + types[i].dump() + " at " + std::to_string(i));
    if (sliding && c.slidingWindow == 0)
      return in.bad("layer_types",
                    "has sliding_attention at " + std::to_string(i) + " but no sliding_window is in use");
    c.windowPerLayer[i] = sliding ? c.slidingWindow : 0;
  }
  return ok();
}

/// Llama ignores the keys; Mistral windows every layer; Qwen windows the layers from max_window_layers on,
/// if use_sliding_window is true.
Status readWindow(const JsonFields& in, ModelConfig& c) {
  c.windowPerLayer.assign(static_cast<std::size_t>(c.layers), 0);
  if (c.type == "llama") return ok();
  bool use = c.type == "mistral";
  if (!use) KV_TRY(in.flag("use_sliding_window", use, false));
  const bool absent = in.json().contains("sliding_window") && !in.has("sliding_window");  // null
  if (use && !absent) KV_TRY(in.number("sliding_window", c.slidingWindow, 1, kMaxPosition, 4096));
  if (in.has("layer_types")) return readLayerTypes(in, c);
  int first = 0;
  if (c.type != "mistral") KV_TRY(in.number("max_window_layers", first, 0, 1 << 20, 28));
  for (int i = first; i < c.layers; ++i) c.windowPerLayer[static_cast<std::size_t>(i)] = c.slidingWindow;
  return ok();
}

Status appendIds(const JsonFields& in, const char* key, int vocab, std::vector<std::int32_t>& out) {
  if (!in.has(key)) return ok();
  const json& value = in.json().at(key);
  const json list = value.is_array() ? value : json::array({value});
  for (const json& id : list) {
    if (!id.is_number_integer() || id < 0 || id >= vocab)
      return in.bad(key, "is not an id below vocab_size " + std::to_string(vocab));
    const auto n = id.get<std::int32_t>();
    if (std::find(out.begin(), out.end(), n) == out.end()) out.push_back(n);
  }
  return ok();
}

Status readIds(const JsonFields& in, ModelConfig& c) {
  std::vector<std::int32_t> bos;
  KV_TRY(appendIds(in, "bos_token_id", c.vocab, bos));
  if (!bos.empty()) c.bos = bos.front();
  return appendIds(in, "eos_token_id", c.vocab, c.eos);
}

}  // namespace

Result<ModelConfig> configFromJson(const json& json, const std::string& file) {
  if (!json.is_object())
    return Error("bad_model", "cannot use " + file, "not a JSON object", "use the model's config.json");
  const JsonFields in(json, file);
  ModelConfig c;
  KV_TRY(readType(in, c));
  KV_TRY(readShape(in, c));
  KV_TRY(readArithmetic(in, c));
  KV_TRY(refuseUnknownArithmetic(in));
  KV_TRY(readRope(in, c));
  KV_TRY(readWindow(in, c));
  KV_TRY(readIds(in, c));
  return c;
}

Result<ModelConfig> readConfig(const std::string& directory) {
  const std::string file = directory + "/config.json";
  const auto json = KV_TRY(readJsonFile(file, "bad_model", kLimits));
  auto config = configFromJson(json, file);
  const std::string more = directory + "/generation_config.json";
  std::error_code ignored;
  if (!config || !std::filesystem::exists(more, ignored)) return config;
  const auto generation = KV_TRY(readJsonFile(more, "bad_model", kLimits));
  if (generation.is_object())
    KV_TRY(appendIds(JsonFields(generation, more), "eos_token_id", config->vocab, config->eos));
  return config;
}

std::int64_t ModelConfig::parameters() const {
  const std::int64_t d = hidden, q = std::int64_t{heads} * headDim, kv = std::int64_t{kvHeads} * headDim;
  std::int64_t layer = 2 * d * q + 2 * d * kv + 3 * d * intermediate + 2 * d;
  if (attentionBias) layer += q + 2 * kv;
  if (outputBias) layer += d;
  if (qkNorm) layer += 2 * std::int64_t{headDim};
  return layers * layer + d + (tieEmbeddings ? 1 : 2) * d * vocab;
}

}  // namespace kvlab
