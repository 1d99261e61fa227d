// SPDX-License-Identifier: Apache-2.0
// Commands of captures that older programs wrote, as this program has them. Pure; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace kvlab {

/// Replaces the verbs that changed one setting each by `settings`.
void toPresent(std::string& verb, nlohmann::json& args);

}  // namespace kvlab
