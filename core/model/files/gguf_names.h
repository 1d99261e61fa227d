// SPDX-License-Identifier: Apache-2.0
// The place in a GGUF file of a tensor that Hugging Face knows by another name. Any thread.
#pragma once
#include <optional>
#include <string>

#include "core/model/files/config.h"
#include "core/model/files/gguf.h"

namespace kvlab {

struct GgufPlace {
  std::string name;                       // "blk.0.ffn_gate_exps.weight"
  std::optional<std::int64_t> item = {};  // an expert: one matrix of the tensor
  bool operator==(const GgufPlace&) const = default;
};

/// Nothing for a name that no family has. `name`: "model.layers.0.mlp.experts.3.gate_proj.weight".
std::optional<GgufPlace> ggufPlace(const ModelConfig& config, const std::string& name);
/// Nothing if the file lacks it.
std::optional<TensorView> findInGguf(const Gguf& file, const ModelConfig& config, const std::string& name);

}  // namespace kvlab
