// SPDX-License-Identifier: Apache-2.0
// Qwen 2 and 3, dense and with experts.
#include <algorithm>

#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

/// If use_sliding_window is true, layer_types names the layers with a window; without layer_types max_window_layers
/// does.
Status readQwenWindow(const JsonFields& in, ModelConfig& c) {
  int first = 0;
  const bool use = KV_TRY(in.flag("use_sliding_window", false));
  if (use) KV_TRY(readWindow(in, c, 4096));
  KV_TRY(in.number("max_window_layers", first, 0, 1 << 20, 28));
  KV_TRY(readLayerTypes(in, c, [&](int layer) { return c.slidingWindow > 0 && layer >= first; }));
  return ok();
}

/// Qwen 2 and 2.5: biases of q, k and v.
Status readQwen2(const JsonFields& in, ModelConfig& c) {
  c.attentionBias = true;
  KV_TRY(readQwenWindow(in, c));
  return readRope(in, c);
}

/// Qwen 3: norms of each head of q and k.
Status readQwen3(const JsonFields& in, ModelConfig& c) {
  c.qkNorm = QkNorm::OfHeads;
  KV_TRY(readAttentionBias(in, c));
  KV_TRY(readQwenWindow(in, c));
  return readRope(in, c);
}

/// Qwen 3 with experts: a layer has many narrow ones; some layers may be dense.
/// mlp_only_layers are dense, and of the others all but every decoder_sparse_step-th.
Status readDenseLayers(const JsonFields& in, ModelConfig& c) {
  constexpr const char* key = "mlp_only_layers";
  int step = 1;
  KV_TRY(in.number("decoder_sparse_step", step, 1, 1 << 20, 1));
  std::vector<bool> dense;
  for (int layer = 0; layer < c.layers; ++layer) dense.push_back((layer + 1) % step != 0);
  const nlohmann::json named = in.has(key) ? in.json().at(key) : nlohmann::json::array();
  if (!named.is_array()) return in.bad(key, "is not a list of layers");
  for (const nlohmann::json& layer : named) {
    if (!layer.is_number_integer() || layer < 0) return in.bad(key, "has an entry that is not a layer");
    if (layer < c.layers) dense[layer.get<std::size_t>()] = true;
  }
  if (std::find(dense.begin(), dense.end(), true) != dense.end()) c.denseLayers = dense;
  return ok();
}

Status readQwen3Moe(const JsonFields& in, ModelConfig& c) {
  c.qkNorm = QkNorm::OfHeads;
  KV_TRY(readAttentionBias(in, c));
  const bool window = KV_TRY(in.flag("use_sliding_window", false));
  if (window) KV_TRY(readWindow(in, c, 4096));
  windowEverywhere(c);
  KV_TRY(readExperts(in, c, "num_experts"));
  KV_TRY(in.number("moe_intermediate_size", c.expertWidth, 1, 1 << 22, 768));
  c.expertWeightsSum = KV_TRY(in.flag("norm_topk_prob", false));
  KV_TRY(readDenseLayers(in, c));
  return readRope(in, c);
}

LayerTensors qwen3MoeTensors(const ModelConfig& c, Layer layer) {
  return together(
      normTensors(c),
      {attentionTensors(c),
       c.expertsIn(layer) ? expertTensors(c, {"mlp.", "gate_proj", "up_proj", "down_proj"}) : feedForwardTensors(c)});
}

}  // namespace

Family makeQwen2() { return {.name = "qwen2", .read = readQwen2, .tensors = usualTensors}; }
Family makeQwen3() {
  return {.name = "qwen3", .defaults = R"({"head_dim": 128})", .read = readQwen3, .tensors = usualTensors};
}
Family makeQwen3Moe() {
  return {.name = "qwen3_moe",
          .defaults = R"({"num_experts_per_tok": 8, "max_position_embeddings": 32768})",
          .read = readQwen3Moe,
          .tensors = qwen3MoeTensors};
}

}  // namespace kvlab
