// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/tokenizer.h"

#include <filesystem>

#include "core/model/files/strict_json.h"
#include "core/model/tokens/tokenizer_files.h"

namespace kvlab {
namespace {

constexpr std::size_t kMaxFile = std::size_t{256} << 20;

constexpr int kMostNamed = 4;

std::string named(const Tokenizer& tokenizer, TokenId id) {
  const std::string text = tokenizer.tokenText(id);
  return std::to_string(id.value()) + (text.empty() ? "" : " (" + text + ")");
}

}  // namespace

Error badTokenizer(const std::string& file, const std::string& why, const std::string& remedy) {
  return {"bad_tokenizer", "cannot use tokenizer " + file, why, remedy};
}

Error badText(const std::string& why, const std::string& remedy) {
  return {"bad_text", "cannot tokenise the text", why, remedy};
}

Result<std::shared_ptr<const Tokenizer>> openTokenizer(const std::string& directory, const ModelConfig& config) {
  TokenFiles files = KV_TRY(readTokenFiles(directory));
  const TokenizerSettings settings{.bos = config.bos, .eos = config.eos, .files = std::move(files)};
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

Status checkRows(const Tokenizer& tokenizer, std::span<const TokenId> ids, std::int32_t rows) {
  for (const TokenId id : ids) {
    if (id.value() >= 0 && id.value() < rows) continue;
    Error error{"bad_token", "the text was refused",
                "token " + named(tokenizer, id) + " has no row in the model's embedding of " + std::to_string(rows) +
                    ": tokenizer and embedding do not fit",
                "leave the token out, or use a checkpoint whose embedding has a row for it"};
    error.value = id.value();
    return error;
  }
  return ok();
}

std::string tokensWithoutRow(const Tokenizer& tokenizer, std::int32_t rows) {
  std::string out;
  int count = 0;
  for (std::int32_t id = rows; id < tokenizer.size(); ++id) {
    if (tokenizer.tokenText(TokenId(id)).empty()) continue;
    if (count++ < kMostNamed) out += (out.empty() ? "" : ", ") + named(tokenizer, TokenId(id));
  }
  return out + (count > kMostNamed ? " and " + std::to_string(count - kMostNamed) + " more" : "");
}

}  // namespace kvlab
