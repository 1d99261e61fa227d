// SPDX-License-Identifier: Apache-2.0
// The chat template that a model carries, and the text that it makes of messages: Jinja as far as templates of models
// use it, with the options that transformers sets. A rendering is bounded in steps, memory and text. Immutable; any
// thread.
#pragma once
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/api/error.h"

namespace kvlab::chat {

struct Conversation {
  nlohmann::ordered_json messages;  // list of objects with role, content, and other fields of the template
  bool addGenerationPrompt = true;
  std::string bos = {}, eos = {};         // texts of the model's tokens; empty = none
  nlohmann::ordered_json more = nullptr;  // object of further names that the template may ask for
  std::optional<std::time_t> now = {};    // time for strftime_now, else the clock; both in local time
};

class Template {
 public:
  /// Errors: bad_template, with the line.
  static Result<Template> parse(const std::string& source);
  /// Errors: bad_template (with the line), bad_messages (the template refuses them, or they are no list of messages).
  Result<std::string> render(const Conversation& conversation) const;

 private:
  struct Tree;
  explicit Template(std::shared_ptr<const Tree> tree) : m_tree(std::move(tree)) {}
  std::shared_ptr<const Tree> m_tree;
};

}  // namespace kvlab::chat
