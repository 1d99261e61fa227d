// SPDX-License-Identifier: Apache-2.0
// Functions that all forms of cache files share.
#include "core/files/cache_file.h"

#include <array>
#include <cmath>

#include "core/files/kind_file.h"
#include "core/model/families/family.h"
#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<CacheForm, std::string_view>, 3> kForms = {
    {{CacheForm::Native, "native"}, {CacheForm::HfTuple, "hf_tuple"}, {CacheForm::HfDynamic, "hf_dynamic"}}};

Error otherModel(const std::string& file, const std::string& field, const json& have, const json& want) {
  return Error("other_model", "cannot use " + file,
               field + " is " + have.dump(-1, ' ', false, json::error_handler_t::replace) +
                   ", the session's model has " + want.dump(),
               "open the session with the model that the cache was made with", field, have);
}

Result<json> readManifest(const Safetensors& file, const std::string& path) {
  const auto found = file.metadata().find("kvlab");
  if (found == file.metadata().end())
    return badCache(path, "no kvlab manifest in its metadata; save it with kvlab or with kvlab_cache.py", "kvlab");
  json manifest =
      KV_TRY(parseJson(found->second, path + " (metadata \"kvlab\")", "bad_file", {.depth = 16, .uniqueKeys = true}));
  if (!manifest.is_object()) return badCache(path, "the kvlab manifest is not an object", "kvlab");
  if (manifest.value("format", json()) != "kvlab-cache") return badCache(path, "format is not kvlab-cache", "format");
  const json version = manifest.value("version", json());
  const bool native = manifest.value("form", json()) == name(CacheForm::Native);
  const std::int64_t newest = native ? kNativeVersion : 1;
  if (!version.is_number_integer() || version < 1 || version > newest)
    return badCache(path,
                    "version " + version.dump(-1, ' ', false, json::error_handler_t::replace) + " is none of 1 to " +
                        std::to_string(newest),
                    "version");
  return manifest;
}

}  // namespace

std::string_view name(CacheForm form) { return kForms[static_cast<std::size_t>(form)].second; }

std::optional<CacheForm> cacheFormFromName(std::string_view text) {
  for (const auto& [form, word] : kForms)
    if (word == text) return form;
  return std::nullopt;
}

std::vector<std::string_view> cacheFormNames() {
  std::vector<std::string_view> out;
  for (const auto& [form, word] : kForms) out.push_back(word);
  return out;
}

Error badCache(const std::string& file, const std::string& why, const std::string& field) {
  return Error("bad_file", "cannot use " + file, why, "save the cache again, or use an undamaged copy", field);
}

Result<std::vector<std::int32_t>> indexList(const json& manifest, const char* key, std::int64_t end,
                                            const std::string& file) {
  const auto list = manifest.find(key);
  if (list == manifest.end() || !list->is_array()) return badCache(file, std::string(key) + " is not a list", key);
  std::vector<std::int32_t> out;
  out.reserve(list->size());
  for (const json& value : *list) {
    const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    if (!whole || value.get<std::uint64_t>() >= static_cast<std::uint64_t>(end))
      return badCache(file,
                      std::string(key) + "[" + std::to_string(out.size()) + "] is not a whole number from 0 to " +
                          std::to_string(end - 1),
                      key);
    out.push_back(static_cast<std::int32_t>(value.get<std::uint64_t>()));
  }
  return out;
}

const char* residencyName(const CacheTarget& target) {
  return target.formats.size() == static_cast<std::size_t>(target.config.layers) ? "layer" : "kv_head";
}

json describeModel(const ModelConfig& config) {
  return {{"model_type", config.type},
          {"num_hidden_layers", config.layers},
          {"num_key_value_heads", config.kvHeads},
          {"head_dim", config.headDim},
          {"rope_theta", config.ropes.front().theta}};
}

Status checkModel(const json& manifest, const ModelConfig& config, const std::string& file) {
  const auto model = manifest.find("model");
  if (model == manifest.end() || !model->is_object()) return badCache(file, "model is not an object", "model");
  const json wanted = describeModel(config);
  for (const char* field : {"model_type", "num_hidden_layers", "num_key_value_heads", "head_dim"}) {
    json have = model->value(field, json());
    const Family* family = have.is_string() ? familyOf(have.get<std::string>()) : nullptr;
    if (family) have = family->name;  // files of transformers say "gemma3_text"
    if (have != wanted[field]) return otherModel(file, std::string("model.") + field, have, wanted[field]);
  }
  const json theta = model->value("rope_theta", json());
  if (!theta.is_number() ||
      !(std::abs(theta.get<double>() - config.ropes.front().theta) <= 1e-9 * config.ropes.front().theta))
    return otherModel(file, "model.rope_theta", theta, wanted["rope_theta"]);
  return ok();
}

const char* faultOf(float value) {
  constexpr float kLargest = 1e18f;  // its square is finite in f32, and so is a sum of a hundred squares
  if (!std::isfinite(value)) return "is not finite";
  return std::abs(value) > kLargest ? "is above 1e+18, with which attention is not finite" : nullptr;
}

Status checkCapacity(std::int64_t rows, const CacheTarget& target, const std::string& file) {
  if (rows <= target.capacity) return ok();
  return Error("capacity", "cannot use " + file,
               "it holds " + std::to_string(rows) + " rows per layer, the limit is " + std::to_string(target.capacity),
               "raise capacity in the manifest", "capacity", target.capacity);
}

Status checkPhases(const std::vector<std::int32_t>& phases, const CacheTarget& target, const std::string& file) {
  if (phases.empty() || phases.back() < target.maxPhases) return ok();
  return Error(
      "no_phase_room", "cannot use " + file,
      "position " + std::to_string(phases.back()) + " is above the last one, " + std::to_string(target.maxPhases - 1),
      "raise capacity in the manifest", "position_ids", phases.back());
}

Result<CacheImport> parseCache(std::span<const std::byte> bytes, const std::string& path, const CacheTarget& target) {
  const Safetensors file = KV_TRY(Safetensors::parse(bytes, path));
  const json manifest = KV_TRY(readManifest(file, path));
  const json word = manifest.value("form", json());
  const auto form = word.is_string() ? cacheFormFromName(word.get<std::string>()) : std::nullopt;
  if (!form) return badCache(path, "form is none of native, hf_tuple, hf_dynamic", "form");
  KV_TRY(checkModel(manifest, target.config, path));
  if (target.kind && *form != CacheForm::Native)
    return Error(
        "other_format", "cannot use " + path,
        "a Hugging Face form has a row for each token, and a " + target.kind->key() + " session has others, too",
        "load it in a session without " + target.kind->key() + ", or prompt the file's tokens", "form", word);
  if (*form != CacheForm::Native && std::string_view(residencyName(target)) != "layer")
    return Error("other_format", "cannot use " + path,
                 "all KV heads of a layer have the same rows in a Hugging Face form, and the session's residency is by "
                 "KV head",
                 "load it in a session with residency layer", "form", word);
  Result<CacheImport> rows =
      *form == CacheForm::Native ? parseNative(file, manifest, path, target) : parseHf(file, manifest, path, target);
  if (rows) rows->form = *form;
  return rows;
}

}  // namespace kvlab
