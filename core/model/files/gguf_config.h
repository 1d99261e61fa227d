// SPDX-License-Identifier: Apache-2.0
// Writes the keys of a GGUF file about its decoder as the config.json of the same model, so that one reader knows every
// family. Adds two properties that only such files have: rows of q and k in the order that rotates neighbours, and
// norms with their 1 inside. Names of tensors and rotary keys are translated here, too. Any thread.
#pragma once
#include <optional>
#include <string>

#include "core/model/files/config.h"
#include "core/model/files/gguf.h"

namespace kvlab {

/// Errors (bad_model) name the key.
Result<ModelConfig> configOf(const Gguf& file);

/// The place in a GGUF file of a tensor that Hugging Face knows by another name.
struct GgufPlace {
  std::string name;                       // "blk.0.ffn_gate_exps.weight"
  std::optional<std::int64_t> item = {};  // an expert: one matrix of the tensor
  bool operator==(const GgufPlace&) const = default;
};

/// Nothing for a name that no family has. `name`: "model.layers.0.mlp.experts.3.gate_proj.weight".
std::optional<GgufPlace> ggufPlace(const ModelConfig& config, const std::string& name);
/// Nothing if the file lacks it.
std::optional<TensorView> findInGguf(const Gguf& file, const ModelConfig& config, const std::string& name);

/// Their key for the share of a head that turns, which every family obeys.
inline constexpr const char* kRotaryShare = "rotary_share";

}  // namespace kvlab
