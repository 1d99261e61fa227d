// SPDX-License-Identifier: Apache-2.0
#include "core/model/chat/render.h"

#include <algorithm>

#include "core/model/chat/interpreter.h"

namespace kvlab::chat {
namespace {

constexpr std::size_t kMostMessages = 100'000;

Error badMessages(const std::string& why) {
  return {
      "bad_messages", "cannot make a chat of the messages", why,
      "give a list of objects, each with a role and a content, as in [{\"role\": \"user\", \"content\": \"Hello\"}]"};
}

Status checkMessages(const nlohmann::ordered_json& messages) {
  if (!messages.is_array() || messages.empty()) return badMessages("the messages are not a list, or the list is empty");
  if (messages.size() > kMostMessages) return badMessages("there are " + std::to_string(messages.size()) + " messages");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string which = "message " + std::to_string(i);
    if (!messages[i].is_object()) return badMessages(which + " is no object");
    const auto role = messages[i].find("role");
    if (role == messages[i].end() || !role->is_string())
      return badMessages(which + " has no role, or one that is no text");
  }
  return ok();
}

}  // namespace

struct Template::Tree {
  Body body;
};

Result<Template> Template::parse(const std::string& source) {
  return Template(std::make_shared<const Tree>(Tree{KV_TRY(chat::parse(source))}));
}

Result<std::string> Template::render(const Conversation& in) const {
  KV_TRY(checkMessages(in.messages));
  auto messages = Value::fromJson(in.messages);
  auto more = Value::fromJson(in.more.is_object() ? in.more : nlohmann::ordered_json::object());
  if (!messages || !more) return badMessages("they stand too deep inside each other");
  Dict names = *more->dict;
  names.emplace_back("messages", std::move(*messages));
  names.emplace_back("add_generation_prompt", Value::flag(in.addGenerationPrompt));
  if (!in.bos.empty()) names.emplace_back("bos_token", Value::string(in.bos));
  if (!in.eos.empty()) names.emplace_back("eos_token", Value::string(in.eos));
  for (const char* absent : {"tools", "documents"})
    if (!more->entry(absent)) names.emplace_back(absent, Value::none());
  std::string out;
  Interpreter interpreter(std::move(names), in.now.value_or(std::time(nullptr)));
  KV_TRY(interpreter.run(m_tree->body, out));
  return out;
}

}  // namespace kvlab::chat
