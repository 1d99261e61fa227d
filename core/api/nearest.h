// SPDX-License-Identifier: Apache-2.0
// Names that somebody may have meant: for errors about an unknown verb, key, policy, layout or view. Any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kvlab {

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

}  // namespace kvlab
