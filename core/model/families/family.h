// SPDX-License-Identifier: Apache-2.0
// A family of models: the keys of its config.json besides the common ones, and the tensors that a layer needs. One file
// for each family, and its line in families.inc. Constant values; any thread.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/families/layer_weights.h"
#include "core/model/files/config.h"
#include "core/model/files/json_fields.h"

namespace kvlab {

/// A tensor that a model needs: its name as in the files and its shape.
struct TensorNeed {
  std::string name;                 // "model.layers.0.self_attn.q_proj.weight"
  std::vector<std::int64_t> shape;  // slowest dimension first
};

/// A tensor of a layer and the places that it fills: one, or several with so many of its outputs each.
struct LayerTensor {
  struct Place {
    std::function<TensorView&(LayerWeights&)> weight;
    std::int64_t outputs;
  };
  std::string suffix;  // behind "model.layers.0."
  std::vector<std::int64_t> shape;
  std::vector<Place> places;
  /// The shape in which places are cut, for matrices that are stacked; empty = `shape`.
  std::vector<std::int64_t> flat = {};
};
using LayerTensors = std::vector<LayerTensor>;

struct Family {
  const char* name = "";                                      // ModelConfig::type, and a value of model_type
  std::vector<std::string_view> types = {};                   // further values of model_type
  const char* activation = "hidden_act";                      // the key of the feed-forward network's function
  const char* defaults = "{}";                                // JSON: values for keys that the file lacks
  Status (*read)(const JsonFields&, ModelConfig&) = nullptr;  // the family's own keys, ropes and windows
  LayerTensors (*tensors)(const ModelConfig&, Layer) = nullptr;
  const char* packed = "";  // quantization_config's quant_method that can be read; empty = none
};

/// The family of a model_type or of a ModelConfig::type, or null.
const Family* familyOf(std::string_view type);
/// All that model_type may say, for messages: "gemma2, gemma3, ..".
std::string familyNames();

/// Everything that a configuration needs, in the order of the layers. `prefix` is "model." or empty.
std::vector<TensorNeed> tensorNeeds(const ModelConfig& config, const std::string& prefix = "model.");
std::string layerName(const std::string& prefix, Layer layer, const std::string& suffix);

}  // namespace kvlab
