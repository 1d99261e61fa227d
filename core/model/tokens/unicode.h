// SPDX-License-Identifier: Apache-2.0
// Character classes and normalisation forms as the tokenizers library uses them (Unicode, through
// utf8proc). Any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kvlab::bpe {

bool isSpace(char32_t c);    // White_Space
bool isNumeric(char32_t c);  // Nd, Nl, No
bool isWord(char32_t c);     // Alphabetic, M, Nd, Pc, joiners

enum class Form { Nfc, Nfd, Nfkc, Nfkd };
/// Nothing where the text is not UTF-8 or memory runs out.
std::optional<std::string> normalised(std::string_view text, Form form);

/// First byte of the white space at the end of the text / one past the white space at its start.
std::size_t trailingSpace(std::string_view text, bool (*blank)(char32_t) = isSpace);
std::size_t leadingSpace(std::string_view text, bool (*blank)(char32_t) = isSpace);
bool endsInWord(std::string_view text);
bool startsWithWord(std::string_view text);

}  // namespace kvlab::bpe
