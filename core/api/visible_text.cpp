// SPDX-License-Identifier: Apache-2.0
#include "core/api/visible_text.h"

namespace kvlab {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

bool goesOn(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::string visibleText(std::string_view text) {
  std::string shown = replaced(std::string(text), "\u2581", " ");
  shown = replaced(replaced(std::move(shown), "\n", "\u21B5"), "\t", "\u2192");
  const bool outer = shown.starts_with(' ') || shown.ends_with(' ');
  return outer ? replaced(std::move(shown), " ", "\u00B7") : shown;
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (!goesOn(text[i]) && ++characters > most) return std::string(text.substr(0, i)) + "\u2026";
  return std::string(text);
}

std::string countedText(std::int64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

}  // namespace kvlab
