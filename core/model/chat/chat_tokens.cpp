// SPDX-License-Identifier: Apache-2.0
#include "core/model/chat/chat_tokens.h"

#include <deque>

#include "core/model/tokens/added_tokens.h"

namespace kvlab::chat {
namespace {

/// A reply that no model gives: a character of private use.
constexpr const char* kReply = "\xee\x80\x81";

/// Made-up vocabularies do not look for special tokens in text.
bool findsSpecial(const Tokenizer& tokenizer, TokenId id) {
  const auto ids = tokenizer.encode(tokenizer.tokenText(id), false);
  return ids && ids->size() == 1 && ids->front() == id;
}

}  // namespace

void nameTokens(const Tokenizer& tokenizer, Conversation& out) {
  if (tokenizer.bos().value() >= 0) out.bos = tokenizer.tokenText(tokenizer.bos());
  if (const auto eos = tokenizer.eos(); !eos.empty()) out.eos = tokenizer.tokenText(eos.front());
}

Result<std::vector<TokenId>> encodeChat(const Tokenizer& tokenizer, std::string_view text) {
  std::deque<bpe::AddedToken> special;
  bpe::TokenFinder finder;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    if (!tokenizer.isSpecial(TokenId(id))) continue;
    if (special.empty() && findsSpecial(tokenizer, TokenId(id))) return tokenizer.encode(text, false);
    special.push_back({.id = id, .content = tokenizer.tokenText(TokenId(id))});
    finder.add(special.back(), special.back().content);
  }
  std::vector<TokenId> out;
  for (const bpe::Part& part : finder.find(text)) {
    if (part.token) {
      out.emplace_back(part.token->id);
      continue;
    }
    const auto ids = KV_TRY(tokenizer.encode(text.substr(part.begin, part.end - part.begin), false));
    out.insert(out.end(), ids.begin(), ids.end());
  }
  return out;
}

Result<std::string> nextTurn(const Template& parsed, const Conversation& conversation) {
  Conversation whole = conversation;
  whole.messages = nlohmann::ordered_json::array(
      {{{"role", "user"}, {"content", "x"}}, {{"role", "assistant"}, {"content", kReply}}});
  if (!conversation.messages.is_array()) return parsed.render(conversation);
  for (const auto& message : conversation.messages) whole.messages.push_back(message);
  const std::string text = KV_TRY(parsed.render(whole));
  const auto at = text.rfind(kReply);
  if (at == std::string::npos)
    return Error("bad_template", "the conversation cannot go on",
                 "the chat template does not write replies as they are", "give all messages, from the first one on");
  return text.substr(at + 3);
}

}  // namespace kvlab::chat
