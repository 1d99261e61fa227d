// SPDX-License-Identifier: Apache-2.0
// OLMo 2: norms behind attention and feed-forward network instead of before them, norms of whole rows of q and k.
#include "core/model/families/olmo.h"
#include "core/model/families/reading.h"

namespace kvlab {
namespace {

Status readOlmo2(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readOlmo(in, c));
  windowEverywhere(c);
  return readRope(in, c);
}

}  // namespace

Family makeOlmo2() {
  return {.name = "olmo2",
          .types = {"olmo2"},
          .defaults = R"({"rms_norm_eps": 1e-5})",
          .read = readOlmo2,
          .tensors = olmoTensors};
}

}  // namespace kvlab
