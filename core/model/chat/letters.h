// SPDX-License-Identifier: Apache-2.0
// Upper and lower case of UTF-8 texts, as Python has them, except for letters that become several (only the German
// sharp s is handled). Any thread.
#pragma once
#include <string>
#include <string_view>

#include "core/model/chat/interpreter.h"

namespace kvlab::chat {

std::string uppered(std::string_view text);
std::string lowered(std::string_view text);
/// The first letter of each word upper, the others lower.
std::string titled(std::string_view text);
/// The first character upper, the others lower.
std::string capitalised(std::string_view text);
/// Some letter has case, and all that have it are such.
bool isUpper(std::string_view text);
bool isLower(std::string_view text);
bool allDigits(std::string_view text);
bool allLetters(std::string_view text);
bool allBlank(std::string_view text);

/// At most `most` replacements, all where it is negative.
Result<Value> replaced(Call& call, std::string_view text, std::string_view from, std::string_view to,
                       std::int64_t most);

}  // namespace kvlab::chat
