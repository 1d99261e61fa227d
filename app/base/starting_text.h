// SPDX-License-Identifier: GPL-3.0-or-later
// The text that a session begins with, beside its manifest in a request: {text}, or {file}, which may be a resource.
// Pure functions; any thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>

#include "core/api/error.h"

namespace kvlab {

/// The demo model's story, as a request names it.
nlohmann::json storyStart();
/// Empty where the request has no `start`. Errors: io, bad_argument.
Result<QString> startingText(const nlohmann::json& request);
/// The script line that gives the session this text.
QString startingLine(const nlohmann::json& request);

}  // namespace kvlab
