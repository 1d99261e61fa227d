// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/verbs.h"

#include <algorithm>

#include "core/model/chat/chat_tokens.h"
#include "core/model/tokens/tokenizer.h"
#include "core/session/requests.h"
#include "core/session/ticks.h"
#include "core/verbs/verb_ticks.h"

namespace kvlab {
namespace {

using nlohmann::json;

struct Turn {
  std::string text;
  std::vector<TokenId> ids;
};

Result<chat::Template> templateOf(const Session& session, const VerbArgs& in) {
  const std::string source = in.has("template") ? in.text("template") : session.model().chatTemplate();
  if (source.empty())
    return Error("bad_template", "there is no chat with this model", "the model carries no chat template",
                 "open a model that was tuned for chat, give a template with the option template, or call prompt");
  return chat::Template::parse(source);
}

std::vector<TokenId> contextTokens(const Session& session) {
  std::vector<TokenId> out;
  for (const LedgerId id : session.state().context) out.push_back(session.state().ledger[id].token);
  return out;
}

Error differs(const std::string& live, const std::string& wanted) {
  const auto [a, b] = std::mismatch(live.begin(), live.end(), wanted.begin(), wanted.end());
  Error error(
      "chat_differs", "the context is not the beginning of this conversation",
      "they differ from byte " + std::to_string(a - live.begin()) + " on",
      "give the replies as the model wrote them, set more to add messages behind whatever the context holds, or "
      "start with an empty context",
      "messages");
  error.value = {{"context", live.substr(static_cast<std::size_t>(a - live.begin()), 40)},
                 {"conversation", wanted.substr(static_cast<std::size_t>(b - wanted.begin()), 40)}};
  return error;
}

/// The part of the conversation that the context does not hold yet: compared by tokens, or by text if a reply was
/// tokenised differently.
Result<Turn> rest(const Session& session, const std::string& text) {
  const Tokenizer& tokenizer = session.model().tokenizer();
  const std::vector<TokenId> live = contextTokens(session);
  std::vector<TokenId> ids = KV_TRY(chat::encodeChat(tokenizer, text));
  Turn out{text, std::move(ids)};
  if (live.empty()) return out;
  if (live.size() <= out.ids.size() && std::equal(live.begin(), live.end(), out.ids.begin())) {
    out.ids.erase(out.ids.begin(), out.ids.begin() + static_cast<std::ptrdiff_t>(live.size()));
    out.text = tokenizer.decode(out.ids);
    return out;
  }
  const std::string said = tokenizer.decode(live);
  if (!text.starts_with(said)) return differs(said, text);
  out.text = text.substr(said.size());
  out.ids = KV_TRY(chat::encodeChat(tokenizer, out.text));
  return out;
}

/// The next turn behind whatever the context holds. A reply may have ended with its token already.
Result<Turn> behind(const Session& session, const std::string& text) {
  const Tokenizer& tokenizer = session.model().tokenizer();
  std::vector<TokenId> ids = KV_TRY(chat::encodeChat(tokenizer, text));
  Turn out{text, std::move(ids)};
  const std::vector<TokenId> live = contextTokens(session), eos = tokenizer.eos();
  const bool ended = std::find(eos.begin(), eos.end(), live.back()) != eos.end();
  if (!ended || out.ids.empty() || std::find(eos.begin(), eos.end(), out.ids.front()) == eos.end()) return out;
  out.ids.erase(out.ids.begin());
  out.text = tokenizer.decode(out.ids);
  return out;
}

Result<Turn> turnOf(const Session& session, const VerbArgs& in) {
  const auto parsed = KV_TRY(templateOf(session, in));
  chat::Conversation conversation;
  conversation.messages = KV_TRY(chat::orderedMessages(in.raw("messages")));
  conversation.addGenerationPrompt = in.flag("addGenerationPrompt");
  chat::nameTokens(session.model().tokenizer(), conversation);
  if (in.flag("more") && session.state().length() > 0)
    return behind(session, KV_TRY(chat::nextTurn(parsed, conversation)));
  return rest(session, KV_TRY(parsed.render(conversation)));
}

}  // namespace

Result<json> chatVerb(Session& session, VerbArgs& in) {
  const Turn turn = KV_TRY(turnOf(session, in));
  KV_TRY(checkRows(session.model().tokenizer(), turn.ids, session.model().config().vocab));
  json ids = json::array();
  for (const TokenId id : turn.ids) ids.push_back(id.value());
  if (ids.empty()) in.fail("messages", in.raw("messages"), "add nothing to the context", "empty_tokens");
  if (in.error()) return *in.error();
  session.history().beginCommand("promptIds", {{"ids", ids}});  // templates may ask for the time
  json report = KV_TRY(prompted(session, turn.ids));
  return json{{"text", turn.text}, {"tokens", turn.ids.size()}, {"tick", report["tick"]}};
}

}  // namespace kvlab
