// SPDX-License-Identifier: Apache-2.0
// Commits in replies of verbs. Any thread.
#pragma once
#include <nlohmann/json.hpp>

#include "core/session/timeline.h"

namespace kvlab {

/// The command that a commit belongs to: {"tick", "verb", "args"}.
inline nlohmann::json commandJson(const Timeline& timeline, int entry) {
  const Timeline::Entry& command = timeline.entry(timeline.commandOf(entry));
  return {{"tick", timeline.entry(entry).tick.value()}, {"verb", command.verb}, {"args", command.args}};
}

}  // namespace kvlab
