// SPDX-License-Identifier: Apache-2.0
// Texts as people see them. Pure functions; any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kvlab {

/// Line ends, tabs and outer blanks made visible.
std::string visibleText(std::string_view text);
/// At most `most` characters of UTF-8; an ellipsis stands for the rest.
std::string shortened(std::string_view text, std::size_t most);
/// "1 tick", "12 ticks".
std::string countedText(std::int64_t count, std::string_view one, std::string_view many);

}  // namespace kvlab
