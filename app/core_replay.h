// SPDX-License-Identifier: GPL-3.0-or-later
// Captures for the program: opened as an engine, or done again and compared. The .cpp includes no
// Qt, because core uses names that Qt's macros claim.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/api/error.h"
#include "core/api/progress.h"

namespace kvlab {

class Session;

/// The session that a capture leads to, at tick `to` where one is given. Errors: those of
/// replayCapture, and that of the command which failed.
Result<std::unique_ptr<Session>> openCaptured(const std::string& path, const std::string& resources,
                                              std::optional<std::int64_t> to, const Progress& progress);

/// {ok, note, steps: [{tick, verb, ok, expected, got, error?}]}
Result<nlohmann::json> replayTable(const std::string& path, const std::string& resources,
                                   std::optional<std::int64_t> to, bool verify);

}  // namespace kvlab
