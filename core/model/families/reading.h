// SPDX-License-Identifier: Apache-2.0
// Reads keys of a config.json that several families share. Any thread.
#pragma once
#include <functional>

#include "core/model/families/rope_reading.h"

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

}  // namespace kvlab
