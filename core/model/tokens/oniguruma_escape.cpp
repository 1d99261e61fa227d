// SPDX-License-Identifier: Apache-2.0
#include <utf8proc.h>

#include <array>
#include <charconv>

#include "core/model/tokens/oniguruma.h"
#include "core/model/tokens/utf8.h"

namespace kvlab::bpe::onig {
namespace {

bool isHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isOctal(char c) { return c >= '0' && c <= '7'; }

std::optional<char32_t> number(std::string_view digits, int base) {
  std::uint32_t value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  const bool good = !digits.empty() && end.ec == std::errc{} && end.ptr == digits.data() + digits.size();
  return good && value <= 0x10ffff ? std::optional<char32_t>(value) : std::nullopt;
}

Escape character(char32_t c) { return {.character = c}; }
Escape setOf(std::string_view set, bool negated) {
  return {.set = std::string(set), .negated = negated, .letters = negated || set == kWordSet};
}

/// As many as `most` characters of a kind.
std::string_view take(Source& in, std::size_t most, bool (*good)(char)) {
  std::size_t n = 0;
  while (n < most && in.at + n < in.text.size() && good(in.text[in.at + n])) ++n;
  in.at += n;
  return in.text.substr(in.at - n, n);
}

/// {41}, behind x or o.
Escape braced(Source& in, int base) {
  const auto end = in.text.find('}', in.at);
  const auto value = end == in.text.npos ? std::nullopt : number(in.text.substr(in.at + 1, end - in.at - 1), base);
  if (!value) return in.refuse("a list of codes in \\x{..} or \\o{..}"), Escape();
  in.at = end + 1;
  return character(*value);
}

/// Behind \x. Codes of 80 and more are bytes of UTF-8.
Escape hexadecimal(Source& in) {
  if (in.starts("{")) return braced(in, 16);
  std::string bytes;
  do {
    const auto digits = take(in, 2, isHex);
    if (digits.empty()) return character('x');
    bytes += static_cast<char>(*number(digits, 16));
  } while (static_cast<unsigned char>(bytes.back()) >= 0x80 && codePointAt(bytes, 0).length == 0 && in.skip("\\x"));
  const CodePoint c = codePointAt(bytes, 0);
  if (static_cast<std::size_t>(c.length) != bytes.size()) return in.refuse("a byte that is not UTF-8"), Escape();
  return character(c.value);
}

/// Behind \p or \P.
Escape property(Source& in, bool negated) {
  const auto end = in.text.find('}', in.at);
  if (end == in.text.npos) return in.refuse("a property without its end"), Escape();
  std::string_view name = in.text.substr(in.at + 1, end - in.at - 1);
  const bool inverse = name.starts_with('^');
  auto set = propertySet(inverse ? name.substr(1) : name);
  if (!set) return in.refuse("the property " + std::string(name)), Escape();
  in.at = end + 1;
  set->negated = negated != inverse;
  return *set;
}

constexpr std::string_view kSpaces =
    R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

struct Simple {
  char letter;
  char32_t character;
};
constexpr std::array<Simple, 7> kControls{
    {{'a', 7}, {'e', 0x1b}, {'f', 0xc}, {'n', 0xa}, {'r', 0xd}, {'t', 9}, {'v', 0xb}}};
struct Shorthand {
  char letter;
  std::string_view set;
};
constexpr std::array<Shorthand, 4> kShorthands{
    {{'s', kSpaces}, {'h', "0-9A-Fa-f"}, {'w', kWordSet}, {'d', R"(\p{Nd})"}}};

}  // namespace

std::optional<Escape> readEscape(Source& in) {
  if (in.at >= in.text.size()) return in.refuse("a \\ at its end"), Escape();
  const char c = in.text[in.at];
  const auto read = [&](auto value) {
    ++in.at;
    return value;
  };
  for (const Simple& one : kControls)
    if (c == one.letter) return read(character(one.character));
  for (const Shorthand& one : kShorthands)
    if ((c | 0x20) == one.letter) return read(setOf(one.set, c != one.letter));
  const std::string_view next = in.text.substr(in.at + 1, 1);
  if ((c == 'p' || c == 'P') && next == "{") return ++in.at, property(in, c == 'P');
  if (c == 'x') return ++in.at, hexadecimal(in);
  if (c == 'o' && next == "{") return ++in.at, braced(in, 8);
  if (c == '0') return character(number(take(in, 3, isOctal), 8).value_or(0));
  if (c == 'u') {
    ++in.at;
    const std::string_view digits = take(in, 4, isHex);
    const auto value = digits.size() == 4 ? number(digits, 16) : std::nullopt;
    return value ? character(*value) : (in.refuse("\\u without four digits"), Escape());
  }
  if (c == 'c' || c == 'C' || c == 'M') return in.refuse("a control character \\c"), Escape();
  return {};
}

bool foldsToSeveral(char32_t c) {
  if (c < 0x80) return false;
  utf8proc_int32_t out[8] = {};
  int boundary = 0;
  const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), out, 8, UTF8PROC_CASEFOLD, &boundary);
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return n != 1 || category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_LM;  // marks, and U+02BC
}

std::string literal(char32_t c) {
  const bool plain = c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  std::string out;
  appendUtf8(out, c);
  if (plain || c == ' ') return out;
  if (c > ' ' && c < 0x7f) return "\\" + out;
  char digits[8];
  const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<std::uint32_t>(c), 16);
  return "\\x{" + std::string(digits, end.ptr) + "}";
}

std::string bracketed(const Escape& escape) { return (escape.negated ? "[^" : "[") + escape.set + "]"; }

}  // namespace kvlab::bpe::onig
