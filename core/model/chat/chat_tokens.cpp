// SPDX-License-Identifier: Apache-2.0
#include "core/model/chat/chat_tokens.h"

#include <deque>
#include <vector>

#include "core/model/tokens/added_tokens.h"

namespace kvlab::chat {
namespace {

using nlohmann::ordered_json;

constexpr int kMostDepth = 64;
constexpr std::size_t kMostKeys = 4096;  // looking for a key walks through its object

/// Stops a parse that goes too deep or meets too many keys.
class Watch {
 public:
  bool operator()(int depth, ordered_json::parse_event_t event, const ordered_json&) {
    using Event = ordered_json::parse_event_t;
    if (event == Event::object_start) m_keys.push_back(0);
    else if (event == Event::object_end && !m_keys.empty()) m_keys.pop_back();
    const bool many = event == Event::key && !m_keys.empty() && ++m_keys.back() > kMostKeys;
    if (many) m_why = "has more than " + std::to_string(kMostKeys) + " keys in an object";
    if (depth > kMostDepth) m_why = "is nested deeper than " + std::to_string(kMostDepth);
    return m_why.empty();
  }
  const std::string& why() const { return m_why; }

 private:
  std::vector<std::size_t> m_keys;  // keys of the open objects
  std::string m_why;
};

Error badMessage(std::size_t number, const std::string& why) {
  return {"bad_messages", "cannot make a chat of the messages", "message " + std::to_string(number) + " " + why,
          "give each message as an object with a role and a content, or as the JSON of such an object", "messages"};
}

/// A reply that no model gives: a character of private use.
constexpr const char* kReply = "\xee\x80\x81";

/// Made-up vocabularies do not look for special tokens in text.
bool findsSpecial(const Tokenizer& tokenizer, TokenId id) {
  const auto ids = tokenizer.encode(tokenizer.tokenText(id), false);
  return ids && ids->size() == 1 && ids->front() == id;
}

}  // namespace

Result<ordered_json> orderedMessages(const nlohmann::json& list) {
  ordered_json out = ordered_json::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_string()) {
      out.push_back(ordered_json(list[i]));
      continue;
    }
    Watch watch;
    const auto watched = [&](int depth, ordered_json::parse_event_t event, ordered_json& part) {
      return watch(depth, event, part);
    };
    auto message = ordered_json::parse(list[i].get_ref<const std::string&>(), watched, false);
    if (!watch.why().empty()) return badMessage(i, watch.why());
    if (message.is_discarded()) return badMessage(i, "is a text that is not JSON");
    out.push_back(std::move(message));
  }
  return out;
}

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
