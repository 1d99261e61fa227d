// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/training_record.h"

#include <algorithm>

#include "core/files/fingerprint.h"
#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

constexpr std::size_t kMostText = std::size_t{256} << 20;

using Windows = std::vector<std::vector<TokenId>>;

Result<std::vector<std::string>> textsOf(const std::string& content, const std::string& path) {
  if (!path.ends_with(".json")) return std::vector{content};
  const nlohmann::json list = KV_TRY(parseJson(content, path, "bad_text"));
  std::vector<std::string> out;
  for (const nlohmann::json& one : list.is_array() ? list : nlohmann::json::array()) {
    const nlohmann::json text = one.is_object() ? one.value("text", nlohmann::json()) : one;
    if (!text.is_string())
      return Error("bad_text", path + " was not read", "entry " + std::to_string(out.size()) + " has no text",
                   "write a list of strings, or of objects with a text", "text", path);
    out.push_back(text.get<std::string>());
  }
  return out;
}

/// The token that the tokenizer puts before a text; -1 = none.
TokenId openingOf(const Tokenizer& tokenizer) {
  const auto empty = tokenizer.encode("", true);
  return empty && !empty->empty() && empty->front() == tokenizer.bos() ? tokenizer.bos() : TokenId(-1);
}

void cut(const std::vector<TokenId>& tokens, TokenId first, std::size_t window, Windows& out) {
  const std::size_t opening = first.value() < 0 ? 0 : 1, each = window - opening;
  for (std::size_t begin = 0; begin < tokens.size(); begin += each) {
    std::vector<TokenId> one(opening, first);
    const std::size_t end = std::min(tokens.size(), begin + each);
    for (std::size_t i = begin; i < end; ++i) one.push_back(tokens[i]);
    if (one.size() >= at(kLeastWindow)) out.push_back(std::move(one));
  }
}

Windows spread(Windows all, std::int64_t rows) {
  std::int64_t total = 0;
  for (const auto& one : all) total += std::ssize(one);
  if (total <= rows) return all;
  const auto count = std::max<std::size_t>(2, all.size() * at(rows) / at(total));
  Windows out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(std::move(all[i * all.size() / count]));
  return out;
}

}  // namespace

Result<TrainingText> trainingText(const Tokenizer& tokenizer, const std::string& path, int window, std::int64_t rows) {
  const std::string content = KV_TRY(readFile(path, "unreadable_file", kMostText));
  TrainingText out;
  out.hash = contentHash(std::as_bytes(std::span(content)));
  Windows all;
  for (const std::string& text : KV_TRY(textsOf(content, path))) {
    const std::vector<TokenId> tokens = KV_TRY(tokenizer.encode(text, false));
    out.tokens += std::ssize(tokens);
    cut(tokens, openingOf(tokenizer), at(window), all);
  }
  if (all.size() < 2)
    return Error("short_text", "nothing was recorded",
                 path + " has " + std::to_string(out.tokens) + " tokens, and training needs at least " +
                     std::to_string(window + kLeastWindow) + ": a window of " + std::to_string(window) +
                     " to learn from, and " + std::to_string(kLeastWindow) + " more to measure on",
                 "give a longer text, or a smaller --window", "text", path);
  out.windows = spread(std::move(all), rows);
  return out;
}

}  // namespace kvlab
