// SPDX-License-Identifier: Apache-2.0
// Numbers as JSON. Any thread.
#pragma once
#include <cmath>
#include <nlohmann/json.hpp>

namespace kvlab {

/// JSON has no infinities and no not-a-number: null.
inline nlohmann::json finite(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

}  // namespace kvlab
