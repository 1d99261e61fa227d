// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/byte_chars.h"

#include "core/model/tokens/utf8.h"

namespace kvlab::bpe {

ByteChars::ByteChars() {
  m_bytes.fill(-1);
  char32_t next = 0x100;
  for (char32_t b = 0; b < 256; ++b) {
    const bool visible = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xff && b != 0xad);
    m_chars[b] = visible ? b : next++;
    m_bytes[m_chars[b]] = static_cast<std::int16_t>(b);
  }
}

std::string ByteChars::encoded(std::string_view bytes) const {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) appendUtf8(out, m_chars[static_cast<unsigned char>(c)]);
  return out;
}

std::optional<std::string> ByteChars::decoded(std::string_view chars) const {
  std::string out;
  for (std::size_t at = 0; at < chars.size();) {
    const CodePoint c = codePointAt(chars, at);
    if (c.length == 0 || c.value >= m_bytes.size() || m_bytes[c.value] < 0) return {};
    out += static_cast<char>(m_bytes[c.value]);
    at += static_cast<std::size_t>(c.length);
  }
  return out;
}

}  // namespace kvlab::bpe
