// SPDX-License-Identifier: Apache-2.0
// Texts as people see and write them: made visible, short, or counted; names that somebody may have meant; a name with
// settings; texts that name no file. Pure functions; any thread.
#pragma once
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

/// Line ends, tabs and outer blanks made visible.
std::string visibleText(std::string_view text);
/// A text inside XML and HTML, attributes too: <, >, & and " are written as entities.
std::string markupText(std::string_view text);
/// At most `most` characters of UTF-8; an ellipsis stands for the rest.
std::string shortened(std::string_view text, std::size_t most);
/// "1 tick", "12 ticks".
std::string countedText(std::int64_t count, std::string_view one, std::string_view many);

// Names that somebody may have meant: for errors about an unknown verb, key, policy, layout or view.

/// At most three names, nearest first: names that begin with `name`, and names that it becomes if at most a third of
/// its letters (one at least) are changed, added, left out or swapped with a neighbour; but none that is two letters
/// farther than the first. Upper and lower case are the same letter.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& names);

/// "; the nearest is check", "; the nearest are k, v", or nothing.
std::string nearestNote(std::string_view name, const std::vector<std::string>& names);

/// The names of entries that have a member `name`.
template <class Entries>
std::vector<std::string> namesOf(const Entries& entries) {
  std::vector<std::string> out;
  for (const auto& entry : entries) out.emplace_back(entry.name);
  return out;
}

/// Two hexadecimal digits for each byte, and back; none where the text is something else.
std::string hexText(std::string_view bytes);
std::optional<std::string> bytesOfHex(std::string_view hex);

// "NAME:key=value,key=value": manifests, sweeps and the command line write a name with settings in this way.

/// {"name": NAME, key: value, ..} of such a text. A value that reads as a number or truth value becomes one, any
/// other a text. An object comes back as it is. An error has why and remedy alone: the caller knows what was refused.
Result<nlohmann::json> namedObject(const nlohmann::json& given);

/// The reason why a text cannot name a file; empty = it can. The operating system would end the name at the first NUL
/// character.
inline std::string pathFault(const std::string& path) {
  if (path.empty()) return "is empty";
  return std::strlen(path.c_str()) == path.size() ? "" : "has a NUL character";
}

}  // namespace kvlab
