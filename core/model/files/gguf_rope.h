// SPDX-License-Identifier: Apache-2.0
// The rotary keys and tensors of a GGUF file as rope_parameters of a config.json. Any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/model/files/gguf.h"

namespace kvlab {

/// Their key for the share of a head that turns, which every family obeys.
inline constexpr const char* kRotaryShare = "rotary_share";

struct GgufRopeQuestion {
  std::string arch;            // prefix of the keys
  std::int64_t headDim = 0;    // values of a head
  std::int64_t positions = 0;  // the longest context
};

/// {"rope_type", "rope_theta", ..}. Errors: bad_model.
Result<nlohmann::json> ropeJsonOf(const Gguf& file, const GgufRopeQuestion& asked);

}  // namespace kvlab
