// SPDX-License-Identifier: Apache-2.0
// A session as a list of calls, and the file that holds one: line 1 is the manifest, each later line a step.
//   ["step", {"n": 2}]          a call of a verb
//   ["#ro", "table", {...}]     a call of a verb that only reads
//   ["#save", "native", true]   save the cache, load it in a new session; true = go on in both and compare the tokens
//   ["#cap"]                    save a capture, replay it, compare the state hashes
//   ["#fault", "kernel", "step", {"n": 2}]   the call fails at each of its steps in turn, each time in a copy of the
//   process
//   ["#travel"]                 undo to the start and redo to the end, in a copy
//   ["#reset"]                  a reset and the same commands again, in a copy
//   ["#fork"]                   fork the session, go on in the fork
// A path of the form "@3" is file 3 of the run's own folder. Values; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/api/error.h"

namespace kvlab::random_sessions {

using nlohmann::json;

struct Step {
  std::string verb;            // verb of a session, or one with "#" in front
  json args = json::object();  // arguments; of "#save": the list behind its name
  bool reads = false;          // marked "#ro"

  bool own() const { return verb[0] != '#'; }
};

struct Sequence {
  json manifest;
  std::vector<Step> steps;
};

json toJson(const Step& step);
/// Errors: bad_sequence.
Result<Step> stepFromJson(const json& line);

std::string textOf(const Sequence& sequence);
/// Errors: bad_file, bad_sequence.
Result<Sequence> readSequence(const std::string& path);
/// False where the file cannot be written.
bool writeSequence(const std::string& path, const Sequence& sequence);

}  // namespace kvlab::random_sessions
