// SPDX-License-Identifier: Apache-2.0
// Parts of the replies of verbs: rows, checksums, long columns, commands, differences of states. Pure; any thread,
// differences on the engine thread.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/api/ids.h"
#include "core/session/difference.h"
#include "core/session/timeline.h"

namespace kvlab {

/// [12, 40]: the ledger ids as a JSON array.
inline nlohmann::json ledgerList(std::span<const LedgerId> ids) {
  nlohmann::json out = nlohmann::json::array();
  for (const LedgerId id : ids) out.push_back(id.value());
  return out;
}

/// A checksum as 16 hexadecimal digits.
inline std::string hexText(std::uint64_t value) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[(value >> shift) & 15];
  return out;
}

/// An array of numbers, or if packed their bytes in memory order: freeing millions of JSON numbers takes seconds.
template <class T>
nlohmann::json columnOf(const std::vector<T>& values, bool packed) {
  if (!packed) return values;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  return nlohmann::json::binary({bytes, bytes + values.size() * sizeof(T)});
}

/// The command that a commit belongs to: {"tick", "verb", "args"}.
inline nlohmann::json commandJson(const Timeline& timeline, int entry) {
  const Timeline::Entry& command = timeline.entry(timeline.commandOf(entry));
  return {{"tick", timeline.entry(entry).tick.value()}, {"verb", command.verb}, {"args", command.args}};
}

/// A difference of two states; then, now: the sessions that were compared (verbs_compare.cpp).
nlohmann::json toJson(const StateDifference& found, const Session& then, const Session& now);

}  // namespace kvlab
