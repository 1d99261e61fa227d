// SPDX-License-Identifier: Apache-2.0
#include "core/model/families/olmo.h"

#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {

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

}  // namespace kvlab
