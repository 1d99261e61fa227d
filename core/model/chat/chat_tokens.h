// SPDX-License-Identifier: Apache-2.0
// A conversation: the messages as a caller gives them, as text and as token ids. Any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/model/chat/render.h"
#include "core/model/tokens/tokenizer.h"

namespace kvlab::chat {

/// Messages as objects; each is given as an object or as its JSON text. Templates write keys in their order, which a
/// text keeps and an object of arguments does not. Errors: bad_messages.
Result<nlohmann::ordered_json> orderedMessages(const nlohmann::json& list);

/// Names of the model's beginning and end tokens, for templates that write them.
void nameTokens(const Tokenizer& tokenizer, Conversation& out);

/// Ids of a rendered text: special tokens in it are tokens, and none is added. Errors: bad_text.
Result<std::vector<TokenId>> encodeChat(const Tokenizer& tokenizer, std::string_view text);

/// Text that a template writes behind a reply of the model, up to the end of the messages: the next turn of a
/// conversation whose beginning is not known. Errors: the errors of render, and bad_template where the template does
/// not write replies as they are.
Result<std::string> nextTurn(const Template& parsed, const Conversation& conversation);

}  // namespace kvlab::chat
