// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/config.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "core/api/log.h"
#include "core/model/families/family.h"
#include "core/model/families/reading.h"
#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr JsonLimits kLimits{.depth = 32, .bytes = std::size_t{16} << 20, .uniqueKeys = false};
constexpr int kMaxDim = 1 << 20;
constexpr int kMaxVocab = 1 << 24;
constexpr int kMaxPosition = 1 << 30;

Result<const Family*> readFamily(const JsonFields& in) {
  const auto type = KV_TRY(in.text("model_type"));
  if (const Family* family = familyOf(type)) return family;
  return in.bad("model_type", "is not an architecture known here", "use a checkpoint of " + familyNames());
}

/// The text part of a model that also takes pictures, with the settings of its wrapper.
Result<json> textPart(const json& whole, const JsonFields& in) {
  KV_TRY(readFamily(in));
  json text = whole.at("text_config");
  if (!text.is_object()) return in.bad("text_config", "is not an object");
  if (!text.contains("model_type")) text["model_type"] = whole.at("model_type");
  const json tied = whole.value("tie_word_embeddings", text.value("tie_word_embeddings", json(true)));
  text["tie_word_embeddings"] = tied;
  for (const char* key : {"bos_token_id", "eos_token_id", "quantization_config"})
    if (whole.contains(key) && (!text.contains(key) || !whole.at(key).is_null())) text[key] = whole.at(key);
  return text;
}

Status readShape(const JsonFields& in, ModelConfig& c) {
  KV_TRY(in.number("hidden_size", c.hidden, 1, kMaxDim));
  KV_TRY(in.number("num_hidden_layers", c.layers, 1, 4096));
  KV_TRY(in.number("num_attention_heads", c.heads, 1, 65536));
  KV_TRY(in.number("intermediate_size", c.intermediate, 1, kMaxDim * 4));
  KV_TRY(in.number("vocab_size", c.vocab, 1, kMaxVocab));
  KV_TRY(in.number("num_key_value_heads", c.kvHeads, 1, 65536, c.heads));
  KV_TRY(in.number("max_position_embeddings", c.maxPositions, 1, kMaxPosition, 2048));
  KV_TRY(in.number("head_dim", c.headDim, 2, 4096, std::max(c.hidden / c.heads, 1)));
  if (c.heads % c.kvHeads != 0)
    return in.bad("num_key_value_heads", "does not divide num_attention_heads " + std::to_string(c.heads));
  if (!in.has("head_dim") && c.hidden % c.heads != 0)
    return in.bad("hidden_size", "is not a multiple of num_attention_heads " + std::to_string(c.heads));
  return ok();
}

bool readable(const JsonFields& in, const Family& family) {
  constexpr const char* key = "quantization_config";
  if (!in.has(key)) return true;
  const json& packing = in.json().at(key);
  return *family.packed && packing.is_object() && packing.value("quant_method", json()) == family.packed;
}

Status readCommon(const JsonFields& in, const Family& family, ModelConfig& c) {
  KV_TRY(in.number("rms_norm_eps", c.rmsEps, 0.0, 1.0, 1e-6));
  c.tieEmbeddings = KV_TRY(in.flag("tie_word_embeddings", false));
  if (!readable(in, family))
    return in.bad("quantization_config", "means weights in a packed format", "use the f32, f16 or bf16 checkpoint");
  return ok();
}

Status appendIds(const JsonFields& in, const char* key, int vocab, std::vector<std::int32_t>& out) {
  if (!in.has(key)) return ok();
  const json& value = in.json().at(key);
  const json list = value.is_array() ? value : json::array({value});
  for (const json& id : list) {
    if (!id.is_number_integer()) return in.bad(key, "is not an id of a token");
    if (id < 0 || id >= vocab) {
      logWarning(in.file() + ": " + key + " " + id.dump() + " has no row in a vocabulary of " + std::to_string(vocab) +
                 ", so it is left out");
      continue;
    }
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

/// Ids that a family says for files without them may lie outside of a small vocabulary.
void dropIdsOutside(json& defaults, const json& file) {
  const json vocab = file.value("vocab_size", defaults.value("vocab_size", json(0)));
  for (const char* key : {"bos_token_id", "eos_token_id"})
    if (defaults.contains(key) && vocab.is_number_integer() && defaults.at(key) >= vocab) defaults.erase(key);
}

/// Keys of which null says something else than a missing key.
bool meansNone(const std::string& key) { return key == "sliding_window" || key.ends_with("_logit_softcapping"); }

Result<ModelConfig> readText(const json& file, const std::string& name) {
  const Family* family = KV_TRY(readFamily(JsonFields(file, name)));
  json all = json::parse(family->defaults);
  dropIdsOutside(all, file);
  for (const auto& [key, value] : file.items())
    if (!value.is_null() || meansNone(key) || !all.contains(key)) all[key] = value;
  const JsonFields in(all, name);
  ModelConfig c;
  c.type = family->name;
  KV_TRY(readShape(in, c));
  KV_TRY(readCommon(in, *family, c));
  KV_TRY(readActivation(in, family->activation, c));
  KV_TRY(family->read(in, c));
  KV_TRY(readIds(in, c));
  return c;
}

}  // namespace

Result<ModelConfig> configFromJson(const json& json, const std::string& file) {
  if (!json.is_object())
    return Error("bad_model", "cannot use " + file, "not a JSON object", "use the model's config.json");
  const JsonFields in(json, file);
  if (!in.has("text_config")) return readText(json, file);
  const auto text = KV_TRY(textPart(json, in));
  return readText(text, file);
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

}  // namespace kvlab
