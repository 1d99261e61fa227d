// SPDX-License-Identifier: Apache-2.0
// Gemma 3, its text part: as Gemma 2, but without the caps, with norms of q and k. Five layers with a window and a
// rotary base of their own alternate with one layer without a window.
#include "core/model/families/gemma.h"
#include "core/model/families/reading.h"

namespace kvlab {
namespace {

constexpr const char* kGemma3Defaults = R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
  "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
  "max_position_embeddings": 131072, "tie_word_embeddings": true, "sliding_window": 4096, "bos_token_id": 2,
  "eos_token_id": 1})";

Status readGemma3(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readGemma(in, c));
  c.qkNorm = QkNorm::OfHeads;
  int pattern = 6;
  KV_TRY(in.number("sliding_window_pattern", pattern, 1, 1 << 20, 6));
  const auto sliding = KV_TRY(readLayerTypes(in, c, [&](int layer) { return (layer + 1) % pattern != 0; }));
  return readRopesByType(in, c, sliding, {.full = 1e6, .sliding = 1e4, .localKey = "rope_local_base_freq"});
}

}  // namespace

Family makeGemma3() {
  return {.name = "gemma3",
          .types = {"gemma3_text", "gemma3"},
          .activation = "hidden_activation",
          .defaults = kGemma3Defaults,
          .read = readGemma3,
          .tensors = gemmaTensors};
}

}  // namespace kvlab
