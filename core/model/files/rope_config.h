// SPDX-License-Identifier: Apache-2.0
// The rotary part of config.json. Any thread.
#pragma once
#include "core/model/files/config.h"
#include "core/model/files/json_fields.h"

namespace kvlab {

/// Fills ropeTheta and rope; needs maxPositions and type.
Status readRope(const JsonFields& in, ModelConfig& config);

}  // namespace kvlab
