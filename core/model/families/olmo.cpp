// SPDX-License-Identifier: Apache-2.0
// OLMo 2 and 3, with the parts that both share.
#include "core/model/families/family.h"
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

Status readOlmo(const JsonFields& in, ModelConfig& c) {
  c.normBefore = false;
  c.normBehind = true;
  c.qkNorm = QkNorm::OfRows;
  return readAttentionBias(in, c);
}

LayerTensors olmoTensors(const ModelConfig& c, Layer) {
  using W = LayerWeights;
  return together({tensor("post_attention_layernorm.weight", {c.hidden}, &W::behindAttention),
                   tensor("post_feedforward_layernorm.weight", {c.hidden}, &W::behindFeedForward)},
                  {attentionTensors(c), feedForwardTensors(c)});
}

/// OLMo 2: norms behind attention and feed-forward network instead of before them, norms of whole rows of q and k.
Status readOlmo2(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readOlmo(in, c));
  windowEverywhere(c);
  return readRope(in, c);
}

/// OLMo 3: OLMo 2 with a window in three layers of four; the scaling of the rotary frequencies belongs to the fourth.
Status readOlmo3(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readOlmo(in, c));
  KV_TRY(readWindow(in, c, 4096));
  const auto sliding = KV_TRY(readLayerTypes(in, c, [](int layer) { return (layer + 1) % 4 != 0; }));
  return readRopesByType(in, c, sliding, {.full = 5e5, .sliding = 5e5});
}

}  // namespace

Family makeOlmo2() {
  return {.name = "olmo2", .defaults = R"({"rms_norm_eps": 1e-5})", .read = readOlmo2, .tensors = olmoTensors};
}
Family makeOlmo3() {
  return {.name = "olmo3", .defaults = R"({"rms_norm_eps": 1e-5})", .read = readOlmo3, .tensors = olmoTensors};
}

}  // namespace kvlab
