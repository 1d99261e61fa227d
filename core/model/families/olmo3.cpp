// SPDX-License-Identifier: Apache-2.0
// OLMo 3: OLMo 2 with a window in three layers of four; the scaling of the rotary frequencies belongs to the fourth.
#include "core/model/families/olmo.h"
#include "core/model/families/reading.h"

namespace kvlab {
namespace {

Status readOlmo3(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readOlmo(in, c));
  KV_TRY(readWindow(in, c, 4096));
  const auto sliding = KV_TRY(readLayerTypes(in, c, [](int layer) { return (layer + 1) % 4 != 0; }));
  return readRopesByType(in, c, sliding, {.full = 5e5, .sliding = 5e5});
}

}  // namespace

Family makeOlmo3() {
  return {.name = "olmo3",
          .types = {"olmo3"},
          .defaults = R"({"rms_norm_eps": 1e-5})",
          .read = readOlmo3,
          .tensors = olmoTensors};
}

}  // namespace kvlab
