// SPDX-License-Identifier: Apache-2.0
// Tensors that many families share. Pure; any thread.
#pragma once
#include "core/model/families/family.h"

namespace kvlab {

LayerTensor tensor(std::string suffix, std::vector<std::int64_t> shape, TensorView LayerWeights::*weight);
/// Appends lists to the first.
LayerTensors together(LayerTensors first, const std::vector<LayerTensors>& others);

LayerTensors attentionTensors(const ModelConfig& config);    // q, k, v, o, biases, norms of q and k
LayerTensors feedForwardTensors(const ModelConfig& config);  // gate, up, down, biases
/// A norm before attention and one before the feed-forward network, attention, feed-forward network.
LayerTensors usualTensors(const ModelConfig& config, Layer layer);

}  // namespace kvlab
