// SPDX-License-Identifier: Apache-2.0
// Expressions that tokenizer.json files write for Oniguruma, in the syntax of Ruby, as PCRE2 reads them: translated
// where the two differ, refused by name where PCRE2 has nothing of the kind. The rest means the same to both.
// Any thread.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace kvlab::bpe {

/// Nothing, and the reason, where there is no translation. The result is for PCRE2_UTF, PCRE2_UCP and PCRE2_MULTILINE.
std::optional<std::string> pcreFromOniguruma(std::string_view expression, std::string& why);

}  // namespace kvlab::bpe

// Escapes and classes, read one by one. A reader belongs to one translation.
namespace kvlab::bpe::onig {

/// The progress of a translation: the expression, the place in it, and the reason why it cannot go on.
struct Source {
  std::string_view text;
  std::size_t at = 0;
  std::string why = {};  // the first complaint; empty = none

  bool done() const { return at >= text.size() || !why.empty(); }
  bool starts(std::string_view with) const { return text.substr(std::min(at, text.size())).starts_with(with); }
  bool skip(std::string_view what) {
    if (!starts(what)) return false;
    at += what.size();
    return true;
  }
  void refuse(const std::string& construct) {
    if (why.empty()) why = "cannot be read as Oniguruma reads it: it has " + construct;
  }
};

/// Meaning of an escape: a character, or a class.
struct Escape {
  std::optional<char32_t> character = {};
  std::string set = {};  // inside of a PCRE2 class
  bool negated = false;  // the class has all characters but those of the set
  bool letters = false;  // the class may hold letters that have another case
};

/// The characters of \w, [:alpha:], \p{Han}, .., as the inside of a PCRE2 class.
/// Six superscripts and fractions belong to \w, but not where it stands in a class.
inline constexpr std::string_view kWordInClass = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
inline constexpr std::string_view kWordSet = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
std::optional<Escape> posixSet(std::string_view name);
std::optional<Escape> propertySet(std::string_view name);

/// Reads an escape that means the same inside and outside of classes, from behind its backslash. Nothing where it is
/// none of these; then nothing is read.
std::optional<Escape> readEscape(Source& in);
/// A whole class from behind its opening bracket, as an expression that matches one character.
std::string readClass(Source& in, bool caseless, int depth = 0);

/// Under (?i) Oniguruma takes such a character for the letters that it folds to, and these for the character.
bool foldsToSeveral(char32_t c);
inline constexpr const char* kFolds =
    "letters under (?i) that one character may stand for (ss, ff, fi, fl, st and others)";

/// "\x{e4}", or the character itself where no syntax knows it.
std::string literal(char32_t c);
/// A class as an expression: "[..]" or "[^..]".
std::string bracketed(const Escape& escape);

}  // namespace kvlab::bpe::onig
