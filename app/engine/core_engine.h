// SPDX-License-Identifier: GPL-3.0-or-later
// Engines that run core/session. Values; the openers run on the engine thread. The .cpp includes no Qt, because Qt's
// macros clash with names of core.
#pragma once
#include <string>

#include "app/engine/engine.h"
#include "core/api/table.h"

namespace kvlab {

/// Engines that find the demo model and other files in `resources`.
EngineFactory coreEngines(std::string resources);
/// The verbs and tables that a session answers.
Schema coreSchema();

}  // namespace kvlab
