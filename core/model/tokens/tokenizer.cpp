// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/tokenizer.h"

#include <filesystem>

#include "core/model/files/strict_json.h"
#include "core/model/tokens/tokenizer_files.h"

namespace kvlab {
namespace {

constexpr std::size_t kMaxFile = std::size_t{256} << 20;

}  // namespace

Error badTokenizer(const std::string& file, const std::string& why, const std::string& remedy) {
  return {"bad_tokenizer", "cannot use tokenizer " + file, why, remedy};
}

Error badText(const std::string& why, const std::string& remedy) {
  return {"bad_text", "cannot tokenise the text", why, remedy};
}

Result<std::shared_ptr<const Tokenizer>> openTokenizer(const std::string& directory, const ModelConfig& config) {
  const TokenizerSettings settings{.bos = config.bos, .eos = config.eos, .files = KV_TRY(readTokenFiles(directory))};
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
