// SPDX-License-Identifier: Apache-2.0
// UTF-8 (RFC 3629): no surrogates, nothing above U+10FFFF, no overlong forms. Any thread.
#pragma once
#include <string>
#include <string_view>

namespace kvlab {

struct CodePoint {
  char32_t value = 0;
  int length = 0;  // bytes; 0 = invalid here
};
/// The code point that starts at `at`, at < text.size().
CodePoint codePointAt(std::string_view text, std::size_t at);
/// Byte of the first violation; npos if there is none.
std::size_t invalidUtf8At(std::string_view text);
/// Every maximal part that is not UTF-8 becomes U+FFFD, as Unicode 15 section 3.9 recommends and
/// Rust's from_utf8_lossy does.
std::string validUtf8(std::string_view text);
void appendUtf8(std::string& out, char32_t value);

}  // namespace kvlab
