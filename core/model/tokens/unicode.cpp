// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "core/model/tokens/utf8.h"

namespace kvlab::bpe {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

/// Categories follow each other as in the Unicode standard: letters, marks, numbers, punctuation, ..
bool isBetween(char32_t c, utf8proc_category_t first, utf8proc_category_t last) {
  return category(c) >= first && category(c) <= last;
}

/// Letters in circles and squares: Alphabetic, though their category is So.
bool isEnclosedLetter(char32_t c) {
  return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) ||
      (c >= 0x1f170 && c <= 0x1f189);
}

/// The last code point; text is UTF-8 and not empty.
std::size_t lastAt(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

}  // namespace

bool isSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
      (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool isNumeric(char32_t c) { return isBetween(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }

bool isWord(char32_t c) {
  return isBetween(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) || category(c) == UTF8PROC_CATEGORY_PC ||
      c == 0x200c || c == 0x200d || isEnclosedLetter(c);
}

std::optional<std::string> normalised(std::string_view text, Form form) {
  const bool compose = form == Form::Nfc || form == Form::Nfkc;
  const bool compat = form == Form::Nfkc || form == Form::Nfkd;
  const auto options = static_cast<utf8proc_option_t>(
      UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (compat ? UTF8PROC_COMPAT : 0));
  utf8proc_uint8_t* raw = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                   static_cast<utf8proc_ssize_t>(text.size()), &raw, options);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(raw, &std::free);
  if (length < 0) return {};
  return std::string(reinterpret_cast<const char*>(raw), static_cast<std::size_t>(length));
}

std::size_t trailingSpace(std::string_view text, bool (*blank)(char32_t)) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t at = lastAt(text.substr(0, end));
    if (!blank(codePointAt(text, at).value)) break;
    end = at;
  }
  return end;
}

std::size_t leadingSpace(std::string_view text, bool (*blank)(char32_t)) {
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint c = codePointAt(text, at);
    if (c.length == 0 || !blank(c.value)) break;
    at += static_cast<std::size_t>(c.length);
  }
  return at;
}

bool endsInWord(std::string_view text) { return !text.empty() && isWord(codePointAt(text, lastAt(text)).value); }

bool startsWithWord(std::string_view text) { return !text.empty() && isWord(codePointAt(text, 0).value); }

}  // namespace kvlab::bpe
