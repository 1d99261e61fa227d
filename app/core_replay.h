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

/// {ok, note, steps: [{tick, verb, ok, expected, got, error?}]}
Result<nlohmann::json> replayTable(const std::string& path, const std::string& resources,
                                   std::optional<std::int64_t> to, bool verify);

}  // namespace kvlab
