// SPDX-License-Identifier: Apache-2.0
// SmolLM3: Llama with some layers without rotation.
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

/// no_rope_layers has 0 where nothing turns; without the list it is every no_rope_layer_interval-th layer.
Result<std::vector<bool>> layersWithoutRope(const JsonFields& in, const ModelConfig& c) {
  constexpr const char* key = "no_rope_layers";
  int interval = 4;
  KV_TRY(in.number("no_rope_layer_interval", interval, 1, 1 << 20, 4));
  const nlohmann::json list = in.has(key) ? in.json().at(key) : nlohmann::json();
  if (!list.is_null() && (!list.is_array() || list.size() != static_cast<std::size_t>(c.layers)))
    return in.bad(key, "does not name each of " + std::to_string(c.layers) + " layers");
  std::vector<bool> out;
  for (int i = 0; i < c.layers; ++i) {
    if (list.is_null()) {
      out.push_back((i + 1) % interval == 0);
      continue;
    }
    const nlohmann::json& turns = list[static_cast<std::size_t>(i)];
    if (!turns.is_number_integer() && !turns.is_boolean())
      return in.bad(key, "has " + turns.dump() + " at " + std::to_string(i));
    out.push_back(turns == 0 || turns == false);
  }
  return out;
}

Status readSmolLm3(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readAttentionBias(in, c));
  c.mlpBias = KV_TRY(in.flag("mlp_bias", false));
  const auto still = KV_TRY(layersWithoutRope(in, c));
  const bool use = KV_TRY(in.flag("use_sliding_window", false));
  if (use) KV_TRY(readWindow(in, c, 0));
  const auto slides = [&](int layer) { return c.slidingWindow > 0 && still[static_cast<std::size_t>(layer)]; };
  KV_TRY(readLayerTypes(in, c, slides));
  KV_TRY(readRope(in, c, 2000000));
  switchRopeOff(c, still);
  return ok();
}

}  // namespace

Family makeSmolLm3() {
  return {.name = "smollm3",
          .defaults = R"({"num_key_value_heads": 4, "max_position_embeddings": 32768, "tie_word_embeddings": true})",
          .read = readSmolLm3,
          .tensors = usualTensors};
}

}  // namespace kvlab
