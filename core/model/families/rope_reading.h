// SPDX-License-Identifier: Apache-2.0
// The rotary part of config.json. Any thread.
#pragma once
#include "core/model/files/config.h"
#include "core/model/files/json_fields.h"

namespace kvlab {

/// One rope for all layers, from rope_scaling or rope_parameters and the keys beside them; needs maxPositions and
/// headDim. theta: value for a missing rope_theta.
Status readRope(const JsonFields& in, ModelConfig& config, double theta = 10000);

/// Ropes by layer type: that of full attention, with the scaling, and that of sliding attention, whose theta may stand
/// at top level under `localKey` (null = nowhere). sliding: [layers]
struct RopeThetas {
  double full, sliding;
  const char* localKey = nullptr;
};
Status readRopesByType(const JsonFields& in, ModelConfig& config, const std::vector<bool>& sliding,
                       const RopeThetas& thetas);

/// Layers that positions turn nothing in. off: [layers]
void switchRopeOff(ModelConfig& config, const std::vector<bool>& off);

}  // namespace kvlab
