// SPDX-License-Identifier: Apache-2.0
// Qwen 3: norms of each head of q and k.
#include "core/model/families/qwen_window.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

Status readQwen3(const JsonFields& in, ModelConfig& c) {
  c.qkNorm = QkNorm::OfHeads;
  KV_TRY(readAttentionBias(in, c));
  KV_TRY(readQwenWindow(in, c));
  return readRope(in, c);
}

}  // namespace

Family makeQwen3() {
  return {.name = "qwen3",
          .types = {"qwen3"},
          .defaults = R"({"head_dim": 128})",
          .read = readQwen3,
          .tensors = usualTensors};
}

}  // namespace kvlab
