// SPDX-License-Identifier: Apache-2.0
#include "core/model/model.h"

#include <filesystem>

#include "core/api/log.h"
#include "core/model/files/gguf.h"
#include "core/model/files/safetensors.h"
#include "core/model/files/strict_json.h"
#include "core/model/gguf_model.h"
#include "core/model/model_builder.h"
#include "core/model/named_models.h"
#include "core/model/packed_experts.h"
#include "core/model/synthetic.h"
#include "core/model/tokens/tokenizer.h"

namespace kvlab {
namespace {

constexpr std::string_view kSynthetic = "synthetic:";

/// Complaints about weights files are complaints about the model here.
Error asBadModel(Error error) {
  error.code = "bad_model";
  return error;
}

constexpr std::size_t kMaxChatTemplate = std::size_t{4} << 20;

std::string templateIn(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array())
    for (const auto& one : value)
      if (one.is_object() && one.contains("template") && one.at("template").is_string() &&
          one.value("name", nlohmann::json()) == "default")
        return one.at("template").get<std::string>();
  return {};
}

/// chat_template.jinja, or "chat_template" of tokenizer_config.json: text, or a list of named ones, of which "default"
/// counts. Empty = none. Errors: bad_tokenizer.
Result<std::string> readChatTemplate(const std::string& directory) {
  std::error_code ignored;
  const std::string file = directory + "/chat_template.jinja", config = directory + "/tokenizer_config.json";
  if (std::filesystem::exists(file, ignored)) return readFile(file, "bad_tokenizer", kMaxChatTemplate);
  if (!std::filesystem::exists(config, ignored)) return std::string();
  const auto read = KV_TRY(readJsonFile(config, "bad_tokenizer"));
  return read.is_object() && read.contains("chat_template") ? templateIn(read.at("chat_template")) : std::string();
}

Result<std::shared_ptr<const Model>> openDirectory(const std::string& spec, const std::string& directory,
                                                   const Progress& progress) {
  if (!report(progress, "reading " + spec, 0, 3)) return cancelledOpening(spec);
  auto config = KV_TRY(readConfig(directory));
  if (!report(progress, "reading weights", 1, 3)) return cancelledOpening(spec);
  auto files = Safetensors::openDirectory(directory);
  if (!files) return asBadModel(files.error());
  auto kept = std::make_shared<const Safetensors>(files.take());
  ModelBuilder builder(spec, config);
  const auto experts = std::make_shared<PackedExperts>(kept);  // keeps the files, too
  const auto find = [&](const std::string& name) -> std::optional<TensorView> {
    const FileTensor* tensor = kept->find(name);
    return tensor ? std::optional(tensor->view()) : experts->find(name);
  };
  KV_TRY(builder.weights(find, experts));
  if (!report(progress, "reading tokenizer", 2, 3)) return cancelledOpening(spec);
  auto tokenizer = KV_TRY(openTokenizer(directory, config));
  if (const std::string without = tokensWithoutRow(*tokenizer, config.vocab); !without.empty())
    logWarning(spec + ": the tokenizer has tokens for which the embedding of " + std::to_string(config.vocab) +
               " has no row: " + without);
  builder.tokenizer(std::move(tokenizer));
  builder.chatTemplate(KV_TRY(readChatTemplate(directory)));
  return builder.build();
}

/// A folder without weights in safetensors may hold a model in GGUF format instead.
bool hasSafetensors(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory + "/model.safetensors", ignored) ||
      std::filesystem::exists(directory + "/model.safetensors.index.json", ignored);
}

Result<std::shared_ptr<const Model>> openFile(const std::string& spec, const std::string& file,
                                              const Progress& progress) {
  auto model = openGguf(spec, file, progress);
  if (!model && model.error().code == "bad_file") return asBadModel(model.error());
  return model;
}

Error noModel(const std::string& spec, std::string why) {
  Error error{"bad_model", "cannot open model " + spec, std::move(why),
              "give demo, a Hugging Face directory, a .gguf file, a name of `kvlab model list`, or synthetic:NAME"};
  error.field = "model";
  error.value = spec;
  return error;
}

}  // namespace

Result<std::shared_ptr<const Model>> Model::open(const std::string& spec, const std::string& resourceDir,
                                                 const Progress& progress) {
  if (spec.starts_with(kSynthetic)) return openSynthetic(spec, spec.substr(kSynthetic.size()), progress);
  const std::string path = KV_TRY(modelPath(spec, resourceDir));
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) return openFile(spec, path, progress);
  if (!std::filesystem::is_directory(path, ignored))
    return noModel(spec, path + " is neither a folder nor a .gguf file");
  if (!hasSafetensors(path))
    if (const auto file = KV_TRY(ggufOfDirectory(path))) return openFile(spec, *file, progress);
  if (!std::filesystem::exists(path + "/config.json", ignored))
    return noModel(spec, path + " is no model folder: it has neither a config.json nor a .gguf file");
  return openDirectory(spec, path, progress);
}

std::shared_ptr<const Model> Model::withLayer(Layer layer, const LayerWeights& weights) const {
  std::shared_ptr<Model> out(new Model(*this));
  out->m_layers[at(layer)] = weights;
  return out;
}

std::shared_ptr<const Model> Model::withConfig(const ModelConfig& config) const {
  std::shared_ptr<Model> out(new Model(*this));
  out->m_config = config;
  return out;
}

}  // namespace kvlab
