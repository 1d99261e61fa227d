// SPDX-License-Identifier: Apache-2.0
// Plays a session of tests/planted/sessions, step by step: a tick of `step` is a step of its own.
#pragma once
#include <functional>
#include <string>

#include "planted/driver/look.h"

namespace kvlab::planted_faults {

struct Script {
  std::string name;
  nlohmann::json manifest, steps;
};

/// All scripts of a folder, by name. Ends the program where one cannot be read.
std::vector<Script> readScripts(const std::string& folder);

/// Called after each step with the session that did it and the code of the error it ended with; false ends the play.
using After = std::function<bool(const Session& session, const std::string& error)>;

/// work: a folder for files that the session writes.
void play(const Script& script, const std::string& level, const std::string& resources, const std::string& work,
          const After& after);

}  // namespace kvlab::planted_faults
