// SPDX-License-Identifier: Apache-2.0
// gpt-oss: sinks in the softmax, a window in every other layer, experts with biases behind a clamped gate. Its
// safetensors files stack experts in orders of their own: packed_experts.h.
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"
#include "kernels/ops/elementwise.h"

namespace kvlab {
namespace {

/// The gate's constants are those of the kernel.
Status readClampedGate(const JsonFields& in, ModelConfig& c) {
  double limit = 0, slope = 0;
  KV_TRY(in.number("swiglu_limit", limit, 0.0, 1e6, 7.0));
  KV_TRY(in.number("swiglu_alpha", slope, 0.0, 1e6, 1.702));
  if (static_cast<float>(limit) != kernels::kClampedSiluLimit)
    return in.bad("swiglu_limit", "is not implemented", "use a checkpoint with 7");
  if (static_cast<float>(slope) != kernels::kClampedSiluSlope)
    return in.bad("swiglu_alpha", "is not implemented", "use a checkpoint with 1.702");
  c.activation = Activation::ClampedSilu;
  return ok();
}

Status readGptOss(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readClampedGate(in, c));
  c.attentionBias = KV_TRY(in.flag("attention_bias", true));
  c.outputBias = c.attentionBias;
  c.sinks = true;
  KV_TRY(readExperts(in, c, "num_local_experts"));
  c.expertWidth = c.intermediate;
  KV_TRY(readWindow(in, c, 128));
  KV_TRY(readLayerTypes(in, c, [&](int layer) { return c.slidingWindow > 0 && layer % 2 == 0; }));
  return readRope(in, c, 150000);
}

LayerTensors gptOssTensors(const ModelConfig& c, Layer) {
  using W = LayerWeights;
  using F = FeedForward;
  const std::int64_t d = c.hidden, m = c.expertWidth, all = c.experts;
  return together(normTensors(c),
                  {attentionTensors(c),
                   {tensor("self_attn.sinks", {c.heads}, &W::sinks), tensor("mlp.router.weight", {all, d}, &W::router),
                    tensor("mlp.router.bias", {all}, &W::routerBias),
                    stackedTensor("mlp.experts.gate_proj.weight", {all, m, d}, &F::gate),
                    stackedTensor("mlp.experts.up_proj.weight", {all, m, d}, &F::up),
                    stackedTensor("mlp.experts.down_proj.weight", {all, d, m}, &F::down),
                    stackedTensor("mlp.experts.gate_proj.bias", {all, m}, &F::gateBias),
                    stackedTensor("mlp.experts.up_proj.bias", {all, m}, &F::upBias),
                    stackedTensor("mlp.experts.down_proj.bias", {all, d}, &F::downBias)}});
}

constexpr const char* kGptOssDefaults = R"({"head_dim": 64, "rms_norm_eps": 1e-5, "num_key_value_heads": 8,
  "num_local_experts": 128, "num_experts_per_tok": 4, "max_position_embeddings": 131072, "rope_parameters": {
  "rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false, "rope_theta": 150000.0,
  "original_max_position_embeddings": 4096}})";

}  // namespace

Family makeGptOss() {
  return {
      .name = "gpt_oss", .defaults = kGptOssDefaults, .read = readGptOss, .tensors = gptOssTensors, .packed = "mxfp4"};
}

}  // namespace kvlab
