// SPDX-License-Identifier: Apache-2.0
// A pattern of tokenizer.json: {"String": text} or {"Regex": expression}. Expressions are
// written for Oniguruma; PCRE2 runs their translation (oniguruma.h). Limits on matching turn a runaway expression into
// an error. Immutable; any thread.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/files/json_fields.h"

namespace kvlab::bpe {

/// No step of a tokenizer makes text grow beyond this.
inline constexpr std::size_t kMaxGrown = std::size_t{1} << 24;

/// Half-open range of bytes.
struct Span {
  std::size_t begin = 0, end = 0;
  bool match = false;
};

class Pattern {
 public:
  static Pattern text(std::string literal);
  /// Nothing and a reason if the expression does not compile.
  static std::optional<Pattern> regex(const std::string& expression, std::string& why);
  /// The value of `key` in a step of a tokenizer.json.
  static Result<Pattern> fromJson(const JsonFields& step, const char* key);

  /// The whole of a UTF-8 text cut into matches and the parts between, in order; no span at all for
  /// an empty text. Empty matches are listed. Error (bad_text): too much work for the limits.
  Result<std::vector<Span>> cut(std::string_view text) const;
  /// The text with every match replaced. Error (bad_text): longer than kMaxGrown.
  Result<std::string> replace(std::string_view text, std::string_view by) const;
  /// The same for each of a list, which together stay below kMaxGrown.
  template <class Texts, class Text>
  Status replaceEach(Texts& texts, std::string_view by, Text text) const {
    std::size_t size = 0;
    for (auto& item : texts) {
      auto replaced = KV_TRY(replace(text(item), by));
      if ((size += replaced.size()) > kMaxGrown) return tooLong();
      text(item) = std::move(replaced);
    }
    return ok();
  }

 private:
  static Error tooLong();
  std::vector<Span> cutLiteral(std::string_view text) const;
  Result<std::vector<Span>> cutRegex(std::string_view text) const;

  std::string m_literal;
  std::shared_ptr<const void> m_code;  // compiled by PCRE2; null for a literal
};

}  // namespace kvlab::bpe
