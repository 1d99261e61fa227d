// SPDX-License-Identifier: Apache-2.0
// Mistral: one window in every layer, or none. The text part of Mistral 3 may be one.
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

Status readMistral(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readWindow(in, c, 4096));
  if (in.has("layer_types")) KV_TRY(readLayerTypes(in, c, {}));
  else windowEverywhere(c);
  return readRope(in, c);
}

}  // namespace

Family makeMistral() {
  return {.name = "mistral", .types = {"mistral", "mistral3"}, .read = readMistral, .tensors = usualTensors};
}

}  // namespace kvlab
