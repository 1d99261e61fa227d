// SPDX-License-Identifier: GPL-3.0-or-later
// Makes engines for requests of the program. Values; any thread.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>

#include "app/engine/engine.h"

namespace kvlab {

/// The opener for {"manifest":{..}}, {"capture":"path", "to":tick?} or {"recovery":"path"}.
using EngineFactory = std::function<EngineOpener(const nlohmann::json& request)>;

}  // namespace kvlab
