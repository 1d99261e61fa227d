// SPDX-License-Identifier: Apache-2.0
// config.json of well-known checkpoints, reduced to the keys that shape a model.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kvlab {

/// Null if the name is not known.
const char* syntheticShape(std::string_view name);
std::vector<std::string> syntheticShapeNames();

}  // namespace kvlab
