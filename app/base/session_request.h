// SPDX-License-Identifier: GPL-3.0-or-later
// The request that opens a session, {manifest, name?, start?}, {capture} or {sweep, cell, question}: a short name of
// the session for menus, from its model and special settings, and the text that the session begins with. `start` is
// {text}, or {file}, which may be a resource. Functions without a state; any thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>

#include "core/api/error.h"

namespace kvlab {

/// The name that the person gave it, else "demo · ring_fused · V int8 · window 64"; of a capture its path.
QString sessionName(const nlohmann::json& request);
/// The demo model's story, as a request names it.
nlohmann::json storyStart();
/// Empty where the request has no `start`. Errors: io, bad_argument.
Result<QString> startingText(const nlohmann::json& request);
/// The script line that gives the session this text.
QString startingLine(const nlohmann::json& request);

}  // namespace kvlab
