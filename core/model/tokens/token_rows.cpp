// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/token_rows.h"

namespace kvlab {
namespace {

constexpr int kMostNamed = 4;

std::string named(const Tokenizer& tokenizer, TokenId id) {
  const std::string text = tokenizer.tokenText(id);
  return std::to_string(id.value()) + (text.empty() ? "" : " (" + text + ")");
}

}  // namespace

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
