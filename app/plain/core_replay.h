// SPDX-License-Identifier: GPL-3.0-or-later
// Opens captures as engines, or replays and compares them. The .cpp includes no Qt, because Qt's macros clash with
// names of core.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/api/error.h"
#include "core/api/progress.h"

namespace kvlab {

class Session;

/// The session at the end of a capture, or at tick `to`. Errors: those of replayCapture, and that of a failed command.
Result<std::unique_ptr<Session>> openCaptured(const std::string& path, const std::string& resources,
                                              std::optional<std::int64_t> to, const Progress& progress);

/// A session restored from the recovery file of a program that crashed or was killed.
struct Recovered {
  std::unique_ptr<Session> session;  // goes on with the file
  std::optional<Error> lost;         // the command that could not be done again, or that the state is another one
};
/// The session that a recovery file leads to. If a command cannot be executed again, the session ends in the state
/// before it, and a copy of the file stays beside the file. Errors: those of replayCapture, and bad_file.
Result<Recovered> openRecovered(const std::string& path, const std::string& resources, const Progress& progress);

struct RecoveryFacts {
  std::string model;
  std::int64_t commands = 0, tick = 0;
};
/// Errors: bad_file, bad_capture.
Result<RecoveryFacts> recoveryFacts(const std::string& path);

/// {ok, note, steps: [{tick, verb, ok, expected, got, error?}]}
Result<nlohmann::json> replayTable(const std::string& path, const std::string& resources,
                                   std::optional<std::int64_t> to, bool verify);

}  // namespace kvlab
