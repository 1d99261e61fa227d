// SPDX-License-Identifier: Apache-2.0
// A chat template cut into text and the tokens of its tags, with the white space as transformers has Jinja treat it:
// trim_blocks and lstrip_blocks are on. Any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"

namespace kvlab::chat {

enum class TokenKind : std::uint8_t {
  Data,
  OutputBegin,
  OutputEnd,
  BlockBegin,
  BlockEnd,
  Name,
  Text,
  Int,
  Float,
  Op,
  End
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;  // for a string its value
  int line = 1;

  bool op(std::string_view what) const { return kind == TokenKind::Op && text == what; }
  bool name(std::string_view what) const { return kind == TokenKind::Name && text == what; }
};

/// An End stands last. Errors: bad_template.
Result<std::vector<Token>> lex(std::string_view source);

Error badTemplate(
    int line, const std::string& why,
    const std::string& remedy = "use a chat template of another copy of the model, or prompt without one");

/// White space as Python's str.strip takes it.
bool isBlank(char32_t c);
std::string_view stripped(std::string_view text, bool left, bool right);

}  // namespace kvlab::chat
