// SPDX-License-Identifier: Apache-2.0
#include "core/model/families/reading.h"

#include "kernels/ops/experts.h"

namespace kvlab {

using nlohmann::json;

Status readActivation(const JsonFields& in, const char* key, ModelConfig& c) {
  const auto act = KV_TRY(in.text(key, "silu"));
  if (act == "silu" || act == "swish") c.activation = Activation::Silu;
  else if (act == "gelu_pytorch_tanh" || act == "gelu_new") c.activation = Activation::GeluTanh;
  else return in.bad(key, "is not implemented", "use a checkpoint with silu or gelu_pytorch_tanh");
  return ok();
}

Status readAttentionBias(const JsonFields& in, ModelConfig& c) {
  c.attentionBias = KV_TRY(in.flag("attention_bias", false));
  c.outputBias = c.attentionBias;
  return ok();
}

Status readWindow(const JsonFields& in, ModelConfig& c, int other) {
  const bool null = in.json().contains("sliding_window") && !in.has("sliding_window");
  if (null) return ok();
  if (!in.has("sliding_window") && other == 0) return ok();
  return in.number("sliding_window", c.slidingWindow, 1, 1 << 30, other);
}

void windowEverywhere(ModelConfig& c) { c.windowPerLayer.assign(static_cast<std::size_t>(c.layers), c.slidingWindow); }

Result<std::vector<bool>> readLayerTypes(const JsonFields& in, ModelConfig& c,
                                         const std::function<bool(int layer)>& slides) {
  constexpr const char* key = "layer_types";
  std::vector<bool> out;
  const json types = in.has(key) ? in.json().at(key) : json();
  if (!types.is_null() && (!types.is_array() || types.size() != static_cast<std::size_t>(c.layers)))
    return in.bad(key, "does not name each of " + std::to_string(c.layers) + " layers");
  for (int i = 0; i < c.layers; ++i) {
    const json type =
        types.is_null() ? json(slides(i) ? "sliding_attention" : "full_attention") : types[static_cast<std::size_t>(i)];
    const bool sliding = type == "sliding_attention";
    if (!sliding && type != "full_attention") return in.bad(key, "has " + type.dump() + " at " + std::to_string(i));
    if (sliding && c.slidingWindow == 0)
      return in.bad(key, "has sliding_attention at " + std::to_string(i) + " but no sliding_window is in use");
    out.push_back(sliding);
    c.windowPerLayer.push_back(sliding ? c.slidingWindow : 0);
  }
  return out;
}

Status refuseFlag(const JsonFields& in, const char* key) {
  const bool set = KV_TRY(in.flag(key, false));
  if (set) return in.bad(key, "is not implemented", "use a checkpoint without it");
  return ok();
}

Status readExperts(const JsonFields& in, ModelConfig& c, const char* key) {
  const char* there = in.has(key) ? key : "num_local_experts";
  KV_TRY(in.number(there, c.experts, 1, kernels::kExpertsMax));
  return in.number("num_experts_per_tok", c.expertsUsed, 1, c.experts);
}

}  // namespace kvlab
