// SPDX-License-Identifier: Apache-2.0
#include "core/api/texts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>

namespace kvlab {
namespace {

using nlohmann::json;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

bool goesOn(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

constexpr std::size_t kMost = 3, kLongest = 64, kShortestBeginning = 3;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Letters changed, added, left out or swapped with a neighbour that make one text of the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

constexpr const char* kRemedy = "write NAME:key=value,key=value";

Error bad(std::string why) { return Error("", "", std::move(why), kRemedy); }

json valueOf(const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : json(text);
}

}  // namespace

std::string visibleText(std::string_view text) {
  std::string shown = replaced(std::string(text), "\u2581", " ");
  shown = replaced(replaced(std::move(shown), "\n", "\u21B5"), "\t", "\u2192");
  const bool outer = shown.starts_with(' ') || shown.ends_with(' ');
  return outer ? replaced(std::move(shown), " ", "\u00B7") : shown;
}

std::string markupText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
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

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& names) {
  if (name.empty() || name.size() > kLongest) return {};
  const std::string wanted = lower(name);
  const std::size_t most = std::max<std::size_t>(1, wanted.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& one : names) {
    const std::string other = lower(one);
    const bool begins = wanted.size() >= kShortestBeginning && other.starts_with(wanted);
    const std::size_t far = begins ? 1 : distance(wanted, other);
    if (other.size() <= kLongest && far <= most) near.emplace_back(far, one);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (const auto& [far, one] : near)
    if (out.size() < kMost && far <= near.front().first + 1) out.push_back(one);
  return out;
}

std::string nearestNote(std::string_view name, const std::vector<std::string>& names) {
  const std::vector<std::string> near = nearest(name, names);
  if (near.empty()) return {};
  std::string out = near.size() == 1 ? "; the nearest is " : "; the nearest are ";
  for (std::size_t i = 0; i < near.size(); ++i) out += (i ? ", " : "") + near[i];
  return out;
}

std::string hexText(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char one : bytes) {
    const auto byte = static_cast<unsigned char>(one);
    out += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

std::optional<std::string> bytesOfHex(std::string_view hex) {
  if (hex.size() % 2) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned char byte = 0;
    const auto [end, failed] = std::from_chars(&hex[i], &hex[i] + 2, byte, 16);
    if (failed != std::errc() || end != &hex[i] + 2) return std::nullopt;
    out += static_cast<char>(byte);
  }
  return out;
}

namespace {

/// True if key= stands there. A comma before anything else belongs to a value, as that of evicted(layer==3, ledger==1).
bool beginsKey(const std::string& text, std::size_t at) {
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at);
  return end == std::string::npos || end == at || (text[end] == '=' && text.compare(end, 2, "==") != 0) ||
      text[end] == ',';
}

}  // namespace

Result<json> namedObject(const json& given) {
  if (given.is_object()) return given;
  if (!given.is_string()) return bad("it is neither a text nor an object");
  const std::string text = given.get<std::string>();
  const std::size_t colon = text.find(':');
  if (colon == 0 || text.empty()) return bad("the name is missing");
  json out{{"name", text.substr(0, colon)}};
  for (std::size_t at = colon; at != std::string::npos;) {
    std::size_t next = text.find(',', at + 1);
    while (next != std::string::npos && !beginsKey(text, next + 1)) next = text.find(',', next + 1);
    const std::string part = text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos) return bad("\"" + part + "\" is not key=value");
    out[part.substr(0, equals)] = valueOf(part.substr(equals + 1));
    at = next;
  }
  return out;
}

}  // namespace kvlab
