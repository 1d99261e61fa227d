// SPDX-License-Identifier: GPL-3.0-or-later
// What `kvlab list` and `kvlab info` know about the engine, without a session. Any thread. The .cpp
// includes no Qt, because core uses names that Qt's macros claim.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/api/error.h"

namespace kvlab {

/// Arrays of {id, title}, in the order of the engine's own lists.
nlohmann::json listInvariants();
nlohmann::json listLayouts();
nlohmann::json listPolicies();
nlohmann::json listMetrics();
nlohmann::json listErrors();
/// [{id, title, effect, lanes, args: [{name, type, required, default?}]}]
nlohmann::json listVerbs();
/// [{id, title, type, default}]; default null = no fixed one.
nlohmann::json listManifest();
/// [{id, available, why}]
nlohmann::json listBackends();
/// The same of what a back end computes with, the exact one first. May open libraries.
nlohmann::json listNumerics(const std::string& backend);
/// What is in the manifest's model and what a session of it costs in memory. Errors: bad_model,
/// bad_manifest.
Result<nlohmann::json> describeModel(const nlohmann::json& manifest, const std::string& resources);

}  // namespace kvlab
