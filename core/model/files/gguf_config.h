// SPDX-License-Identifier: Apache-2.0
// Writes the keys of a GGUF file about its decoder as the config.json of the same model, so that one reader knows every
// family. Adds two properties that only such files have: rows of q and k in the order that rotates neighbours, and
// norms with their 1 inside. Any thread.
#pragma once
#include <string>

#include "core/model/files/config.h"
#include "core/model/files/gguf.h"

namespace kvlab {

/// Errors (bad_model) name the key.
Result<nlohmann::json> configJsonOf(const Gguf& file);
Result<ModelConfig> configOf(const Gguf& file);

/// "gemma2, gemma3, gpt-oss, .."
std::string ggufArchitectures();

}  // namespace kvlab
