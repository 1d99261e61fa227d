// SPDX-License-Identifier: Apache-2.0
// Reads the keys of a config.json that families with experts share. Any thread.
#pragma once
#include "core/model/files/config.h"
#include "core/model/files/json_fields.h"

namespace kvlab {

/// num_experts_per_tok and the number of experts, which stands under `key` or num_local_experts. expertWidth has to be
/// set by the family.
Status readExperts(const JsonFields& in, ModelConfig& config, const char* key);

}  // namespace kvlab
