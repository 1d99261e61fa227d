// SPDX-License-Identifier: Apache-2.0
// `kvlab info`, of the program and of the Python package: a model, the memory that a session of it needs, and the back
// ends of this machine. Any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/api/error.h"

namespace kvlab {

/// {model, backends: [{.., numerics}]}, as describeModel, listBackends and listNumerics have them (lists.h).
/// Errors: those of describeModel.
Result<nlohmann::json> modelAndBackends(const nlohmann::json& manifest, const std::string& resources);
/// The same in lines.
std::string infoText(const nlohmann::json& info);

}  // namespace kvlab
