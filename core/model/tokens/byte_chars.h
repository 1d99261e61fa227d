// SPDX-License-Identifier: Apache-2.0
// GPT-2's bijection between bytes and printable characters: bytes that are visible in Latin-1 stand
// for themselves, the other 68 for U+0100 onward in order. Immutable; any thread.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace kvlab::bpe {

class ByteChars {
 public:
  ByteChars();
  /// Bytes as characters, UTF-8.
  std::string encoded(std::string_view bytes) const;
  /// Nothing if some character stands for no byte.
  std::optional<std::string> decoded(std::string_view chars) const;

 private:
  std::array<char32_t, 256> m_chars{};
  std::array<std::int16_t, 324> m_bytes{};  // by character, -1 = none
};

}  // namespace kvlab::bpe
