// SPDX-License-Identifier: Apache-2.0
#include "core/model/chat/letters.h"

#include <utf8proc.h>

#include <algorithm>

#include "core/model/tokens/utf8.h"

namespace kvlab::chat {
namespace {

char32_t up(char32_t c) { return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))); }
char32_t down(char32_t c) { return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))); }
bool cased(char32_t c) { return up(c) != c || down(c) != c || c == 0xdf; }
utf8proc_category_t kindOf(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

void appendUpper(std::string& out, char32_t c) {
  if (c == 0xdf) out += "SS";
  else appendUtf8(out, up(c));
}

template <class Each>
void eachCharacter(std::string_view text, Each each) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = codePointAt(text, at);
    each(c.value);
    at += static_cast<std::size_t>(std::max(c.length, 1));
  }
}

template <class Holds>
bool every(std::string_view text, Holds holds) {
  bool all = !text.empty();
  eachCharacter(text, [&](char32_t c) { all = all && holds(c); });
  return all;
}

/// `wrong`: a character that has the other case.
template <class Wrong>
bool onlyCase(std::string_view text, Wrong wrong) {
  bool any = false, bad = false;
  eachCharacter(text, [&](char32_t c) {
    any = any || cased(c);
    bad = bad || wrong(c);
  });
  return any && !bad;
}

/// The first character upper, and each that stands behind one that is none of a word; the others lower.
std::string withTitles(std::string_view text, bool (*ofWord)(char32_t)) {
  std::string out;
  bool inside = false;
  eachCharacter(text, [&](char32_t c) {
    if (inside) appendUtf8(out, down(c));
    else if (c == 0xdf) out += "Ss";
    else appendUtf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
    inside = ofWord(c);
  });
  return out;
}

}  // namespace

std::string uppered(std::string_view text) {
  std::string out;
  eachCharacter(text, [&](char32_t c) { appendUpper(out, c); });
  return out;
}

std::string lowered(std::string_view text) {
  std::string out;
  eachCharacter(text, [&](char32_t c) { appendUtf8(out, down(c)); });
  return out;
}

std::string titled(std::string_view text) { return withTitles(text, cased); }

std::string capitalised(std::string_view text) {
  return withTitles(text, [](char32_t) { return true; });
}

bool isUpper(std::string_view text) {
  return onlyCase(text, [](char32_t c) { return cased(c) && up(c) != c; });
}
bool isLower(std::string_view text) {
  return onlyCase(text, [](char32_t c) { return cased(c) && down(c) != c; });
}
bool allDigits(std::string_view text) {
  return every(text, [](char32_t c) { return kindOf(c) == UTF8PROC_CATEGORY_ND; });
}
bool allLetters(std::string_view text) {
  return every(text, [](char32_t c) {
    const auto k = kindOf(c);
    return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
  });
}
bool allBlank(std::string_view text) { return every(text, isBlank); }

}  // namespace kvlab::chat
