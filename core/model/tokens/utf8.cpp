// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/utf8.h"

#include "core/model/tokens/tokenizer.h"

namespace kvlab {
namespace {

unsigned char byteAt(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

struct Lead {
  int length;                 // length of the whole sequence; 0 = cannot start one
  unsigned char first, last;  // range of the second byte
};

Lead leadOf(unsigned char b) {
  if (b < 0x80) return {1, 0, 0};
  if (b < 0xc2) return {0, 0, 0};
  if (b < 0xe0) return {2, 0x80, 0xbf};
  if (b == 0xe0) return {3, 0xa0, 0xbf};
  if (b == 0xed) return {3, 0x80, 0x9f};
  if (b < 0xf0) return {3, 0x80, 0xbf};
  if (b == 0xf0) return {4, 0x90, 0xbf};
  if (b < 0xf4) return {4, 0x80, 0xbf};
  if (b == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

/// Bytes of the sequence at `at` that are as they should be; less than its length where it breaks.
int goodBytes(std::string_view text, std::size_t at, const Lead& lead) {
  int good = 1;
  for (; good < lead.length; ++good) {
    const unsigned char b = byteAt(text, at + static_cast<std::size_t>(good));
    const unsigned char low = good == 1 ? lead.first : 0x80, high = good == 1 ? lead.last : 0xbf;
    if (b < low || b > high) break;
  }
  return good;
}

}  // namespace

CodePoint codePointAt(std::string_view text, std::size_t at) {
  const unsigned char b = byteAt(text, at);
  const Lead lead = leadOf(b);
  if (lead.length == 0 || goodBytes(text, at, lead) < lead.length) return {};
  if (lead.length == 1) return {b, 1};
  char32_t value = b & (0x7fu >> lead.length);
  for (int i = 1; i < lead.length; ++i) value = (value << 6) | (byteAt(text, at + static_cast<std::size_t>(i)) & 0x3fu);
  return {value, lead.length};
}

std::size_t invalidUtf8At(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const int length = codePointAt(text, at).length;
    if (length == 0) return at;
    at += static_cast<std::size_t>(length);
  }
  return std::string_view::npos;
}

std::string validUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Lead lead = leadOf(byteAt(text, at));
    const auto good = static_cast<std::size_t>(goodBytes(text, at, lead));
    if (lead.length > 0 && good == static_cast<std::size_t>(lead.length)) out.append(text, at, good);
    else out += "\xef\xbf\xbd";
    at += good;
  }
  return out;
}

void appendUtf8(std::string& out, char32_t value) {
  const auto put = [&](char32_t b) { out += static_cast<char>(b); };
  if (value < 0x80) return put(value);
  if (value < 0x800) {
    put(0xc0 | (value >> 6));
  } else if (value < 0x10000) {
    put(0xe0 | (value >> 12));
    put(0x80 | ((value >> 6) & 0x3f));
  } else {
    put(0xf0 | (value >> 18));
    put(0x80 | ((value >> 12) & 0x3f));
    put(0x80 | ((value >> 6) & 0x3f));
  }
  put(0x80 | (value & 0x3f));
}

std::string shownText(std::string_view text) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto [value, length] = codePointAt(text, at);
    const unsigned char b = byteAt(text, at);
    if (value == '\n' && length) out += "\\n";
    else if (value == '\t') out += "\\t";
    else if (value == '\r') out += "\\r";
    else if (length == 0 || value < 0x20 || value == 0x7f) {
      out += "<0x";
      out += {hex[b >> 4], hex[b & 15], '>'};
    } else {
      out.append(text, at, static_cast<std::size_t>(length));
    }
    at += length ? static_cast<std::size_t>(length) : 1;
  }
  return out;
}

}  // namespace kvlab
