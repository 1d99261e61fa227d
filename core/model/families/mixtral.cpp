// SPDX-License-Identifier: Apache-2.0
// Mixtral: Mistral with experts in every layer, two of them for a token.
#include "core/model/families/experts.h"
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

Status readMixtral(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readWindow(in, c, 0));
  windowEverywhere(c);
  KV_TRY(readExperts(in, c, "num_local_experts"));
  c.expertWidth = c.intermediate;
  return readRope(in, c, 1e6);
}

LayerTensors mixtralTensors(const ModelConfig& c, Layer) {
  return together(normTensors(c), {attentionTensors(c), expertTensors(c, {"block_sparse_moe.", "w1", "w3", "w2"})});
}

}  // namespace

Family makeMixtral() {
  return {.name = "mixtral",
          .types = {"mixtral"},
          .defaults = R"({"rms_norm_eps": 1e-5, "num_key_value_heads": 8, "num_local_experts": 8,
                          "num_experts_per_tok": 2, "max_position_embeddings": 131072})",
          .read = readMixtral,
          .tensors = mixtralTensors};
}

}  // namespace kvlab
