// SPDX-License-Identifier: Apache-2.0
// Qwen 2 and 2.5: biases of q, k and v.
#include "core/model/families/qwen_window.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

Status readQwen2(const JsonFields& in, ModelConfig& c) {
  c.attentionBias = true;
  KV_TRY(readQwenWindow(in, c));
  return readRope(in, c);
}

}  // namespace

Family makeQwen2() { return {.name = "qwen2", .types = {"qwen2"}, .read = readQwen2, .tensors = usualTensors}; }

}  // namespace kvlab
