// SPDX-License-Identifier: Apache-2.0
// Gemma 2: four norms of 1 + w, soft caps, every other layer with a window.
#include "core/model/families/gemma.h"
#include "core/model/families/reading.h"

namespace kvlab {
namespace {

constexpr const char* kGemma2Defaults = R"({"vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216,
  "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
  "max_position_embeddings": 8192, "tie_word_embeddings": true, "sliding_window": 4096,
  "final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0, "bos_token_id": 2, "eos_token_id": 1})";

Status readGemma2(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readGemma(in, c));
  KV_TRY(readCap(in, "attn_logit_softcapping", c.attentionCap));
  KV_TRY(readLayerTypes(in, c, [](int layer) { return layer % 2 == 0; }));
  return readRope(in, c);
}

}  // namespace

Family makeGemma2() {
  return {.name = "gemma2",
          .types = {"gemma2"},
          .activation = "hidden_activation",
          .defaults = kGemma2Defaults,
          .read = readGemma2,
          .tensors = gemmaTensors};
}

}  // namespace kvlab
