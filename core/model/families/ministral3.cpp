// SPDX-License-Identifier: Apache-2.0
// Ministral 3: YaRN, and queries that grow with their position.
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

constexpr const char* kMinistral3Defaults =
    R"({"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 262144,
  "rms_norm_eps": 1e-5})";
constexpr const char* kMinistral3Rope = R"({"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
  "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0, "mscale_all_dim": 1.0,
  "mscale": 1.0, "llama_4_scaling_beta": 0.1})";

Status readMinistral3(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readWindow(in, c, 0));
  windowEverywhere(c);
  if (in.has("rope_parameters") || in.has("rope_scaling")) return readRope(in, c);
  nlohmann::json usual = in.json();
  usual["rope_parameters"] = nlohmann::json::parse(kMinistral3Rope);
  return readRope(in.inside(usual), c);
}

}  // namespace

Family makeMinistral3() {
  return {.name = "ministral3",
          .types = {"ministral3"},
          .defaults = kMinistral3Defaults,
          .read = readMinistral3,
          .tensors = usualTensors};
}

}  // namespace kvlab
