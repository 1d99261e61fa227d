// SPDX-License-Identifier: Apache-2.0
// Tensors that many families share. Pure; any thread.
#pragma once
#include "core/model/families/family.h"

namespace kvlab {

LayerTensor::Place placed(TensorView LayerWeights::*weight, std::int64_t outputs);
/// expert < 0: a weight of the dense network.
LayerTensor::Place placed(TensorView FeedForward::*weight, std::int64_t outputs, int expert = -1);

LayerTensor tensor(std::string suffix, std::vector<std::int64_t> shape, TensorView LayerWeights::*weight);
LayerTensor denseTensor(std::string suffix, std::vector<std::int64_t> shape, TensorView FeedForward::*weight);
LayerTensor expertTensor(std::string suffix, std::vector<std::int64_t> shape, int expert,
                         TensorView FeedForward::*weight);
/// The same of all experts in one tensor, [experts, outputs, ..].
LayerTensor stackedTensor(std::string suffix, std::vector<std::int64_t> shape, TensorView FeedForward::*weight);
/// Appends lists to the first.
LayerTensors together(LayerTensors first, const std::vector<LayerTensors>& others);

LayerTensors attentionTensors(const ModelConfig& config);    // q, k, v, o, biases, norms of q and k
LayerTensors feedForwardTensors(const ModelConfig& config);  // gate, up, down, biases
/// Names that a family gives to the experts of a layer, each with three matrices of its own.
struct ExpertNames {
  const char *block, *gate, *up, *down;  // "mlp.", "gate_proj", "up_proj", "down_proj"
};
LayerTensors expertTensors(const ModelConfig& config, const ExpertNames& names);  // and the router
LayerTensors normTensors(const ModelConfig& config);  // before attention and before the feed-forward network
/// A norm before attention and one before the feed-forward network, attention, feed-forward network.
LayerTensors usualTensors(const ModelConfig& config, Layer layer);

}  // namespace kvlab
