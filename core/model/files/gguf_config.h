// SPDX-License-Identifier: Apache-2.0
// What the keys of a GGUF file say about a decoder, written as the config.json of the same model, so that one reader
// knows every family; and what holds of the file alone: rows of q and k in the order that rotates neighbours, norms
// with their 1 inside. Any thread.
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
