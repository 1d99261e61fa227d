// SPDX-License-Identifier: GPL-3.0-or-later
// Engines over core/session. Values; the openers run on the engine thread. The .cpp includes no Qt,
// because core uses names that Qt's macros claim.
#pragma once
#include <string>

#include "app/engine_factory.h"
#include "core/api/verb.h"

namespace kvlab {

/// Engines whose demo model and other files lie under `resources`.
EngineFactory coreEngines(std::string resources);
/// The methods of a session.
std::vector<VerbInfo> coreVerbs();

}  // namespace kvlab
