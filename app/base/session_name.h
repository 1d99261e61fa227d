// SPDX-License-Identifier: GPL-3.0-or-later
// A short name of a session for menus: the model and the special settings of the session. Pure function; any thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>

namespace kvlab {

/// The name that the person gave it, else "demo · ring_fused · V int8 · window 64"; of a capture its path. `request` is
/// what opens the session: {manifest, name?} or {capture}.
QString sessionName(const nlohmann::json& request);

}  // namespace kvlab
