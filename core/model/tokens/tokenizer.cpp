// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/tokenizer.h"

#include <filesystem>

#include "core/model/files/strict_json.h"
#include "core/model/tokens/tokenizer_files.h"

namespace kvlab {
namespace {

constexpr std::size_t kMaxFile = std::size_t{256} << 20;

/// tokenizer_config.json says whether SentencePiece texts start with a token of their own.
Result<TokenizerSettings> readSettings(const std::string& directory, const ModelConfig& config) {
  TokenizerSettings settings{.bos = config.bos, .eos = config.eos};
  const std::string file = directory + "/tokenizer_config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return settings;
  const auto read = KV_TRY(readJsonFile(file, "bad_tokenizer"));
  if (!read.is_object()) return badTokenizer(file, "not a JSON object");
  const auto flag = [&](const char* key, bool& out) {
    if (const auto it = read.find(key); it != read.end() && it->is_boolean()) out = it->get<bool>();
  };
  flag("add_bos_token", settings.addBos);
  flag("add_eos_token", settings.addEos);
  return settings;
}

}  // namespace

Error badTokenizer(const std::string& file, const std::string& why, const std::string& remedy) {
  return {"bad_tokenizer", "cannot use tokenizer " + file, why, remedy};
}

Error badText(const std::string& why, const std::string& remedy) {
  return {"bad_text", "cannot tokenise the text", why, remedy};
}

Result<std::shared_ptr<const Tokenizer>> openTokenizer(const std::string& directory, const ModelConfig& config) {
  const auto settings = KV_TRY(readSettings(directory, config));
  std::error_code ignored;
  for (const auto& [name, parse] :
       {std::pair{"/tokenizer.json", &parseTokenizerJson}, std::pair{"/tokenizer.model", &parseSentencePiece}}) {
    const std::string file = directory + name;
    if (!std::filesystem::exists(file, ignored)) continue;
    const auto bytes = readFile(file, "bad_tokenizer", kMaxFile);
    return bytes ? parse(*bytes, file, settings) : bytes.error();
  }
  return makeSyntheticTokenizer(config);
}

}  // namespace kvlab
