// SPDX-License-Identifier: Apache-2.0
// Llama 1 to 3 and models built like them. They have no window, even if the file names one.
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

Status readLlama(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readAttentionBias(in, c));
  c.mlpBias = KV_TRY(in.flag("mlp_bias", false));
  windowEverywhere(c);
  return readRope(in, c);
}

}  // namespace

Family makeLlama() { return {.name = "llama", .read = readLlama, .tensors = usualTensors}; }

}  // namespace kvlab
