// SPDX-License-Identifier: Apache-2.0
// Ministral: Mistral whose layers say whether they have the window.
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

Status readMinistral(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readWindow(in, c, 4096));
  KV_TRY(readLayerTypes(in, c, [&](int) { return c.slidingWindow > 0; }));
  return readRope(in, c);
}

}  // namespace

Family makeMinistral() {
  return {.name = "ministral", .types = {"ministral"}, .read = readMinistral, .tensors = usualTensors};
}

}  // namespace kvlab
