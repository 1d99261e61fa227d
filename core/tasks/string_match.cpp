// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/string_match.h"

#include <algorithm>

#include "core/model/chat/letters.h"
#include "core/model/chat/lexer.h"

namespace kvlab {

std::string cleanedAnswer(std::string_view text) {
  std::string out(chat::stripped(text, true, true));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '\n');
  return std::string(chat::stripped(out, true, true));
}

StringMatch stringMatch(std::string_view answer, std::span<const std::string> wanted) {
  const std::string said = chat::lowered(cleanedAnswer(answer));
  const auto there = std::count_if(wanted.begin(), wanted.end(), [&](const std::string& text) {
    return said.find(chat::lowered(text)) != std::string::npos;
  });
  if (wanted.empty()) return {};
  return {static_cast<double>(there) / static_cast<double>(wanted.size()), there > 0 ? 1.0 : 0.0};
}

}  // namespace kvlab
