// SPDX-License-Identifier: Apache-2.0
// Reads keys of a config.json that several families share: the rotary part, windows, experts, functions. Any thread.
#pragma once
#include <functional>

#include "core/model/files/config.h"
#include "core/model/files/json_fields.h"

namespace kvlab {

/// The key names a function of the feed-forward network; silu and the tanh form of gelu are known.
Status readActivation(const JsonFields& in, const char* key, ModelConfig& config);
/// attention_bias: whether q, k, v and o have a bias.
Status readAttentionBias(const JsonFields& in, ModelConfig& config);
/// sliding_window into slidingWindow: absent = `other`, null = none.
Status readWindow(const JsonFields& in, ModelConfig& config, int other);
/// The window in every layer, or in none.
void windowEverywhere(ModelConfig& config);
/// layer_types, or the rule where the key is missing; the window goes to the layers with sliding attention. [layers],
/// true = sliding
Result<std::vector<bool>> readLayerTypes(const JsonFields& in, ModelConfig& config,
                                         const std::function<bool(int layer)>& slides);
/// Refuses a flag that is true.
Status refuseFlag(const JsonFields& in, const char* key);

/// num_experts_per_tok and the number of experts, which stands under `key` or num_local_experts. expertWidth has to be
/// set by the family.
Status readExperts(const JsonFields& in, ModelConfig& config, const char* key);

// The rotary part of config.json. Any thread.

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
