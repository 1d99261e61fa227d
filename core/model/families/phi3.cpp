// SPDX-License-Identifier: Apache-2.0
// Phi-3, 3.5 and 4-mini: q, k and v in one tensor, gate and up in one, a part of each head turns, longrope.
#include "core/model/families/reading.h"
#include "core/model/families/usual_tensors.h"

namespace kvlab {
namespace {

Status readPhi3(const JsonFields& in, ModelConfig& c) {
  KV_TRY(readWindow(in, c, 0));
  windowEverywhere(c);
  return readRope(in, c);
}

LayerTensors phi3Tensors(const ModelConfig& c, Layer) {
  using W = LayerWeights;
  using F = FeedForward;
  const std::int64_t d = c.hidden, m = c.intermediate, q = std::int64_t{c.heads} * c.headDim,
                     kv = std::int64_t{c.kvHeads} * c.headDim;
  return {tensor("input_layernorm.weight", {d}, &W::inputNorm),
          {"self_attn.qkv_proj.weight", {q + 2 * kv, d}, {placed(&W::q, q), placed(&W::k, kv), placed(&W::v, kv)}},
          tensor("self_attn.o_proj.weight", {d, q}, &W::o),
          tensor("post_attention_layernorm.weight", {d}, &W::postNorm),
          {"mlp.gate_up_proj.weight", {2 * m, d}, {placed(&F::gate, m), placed(&F::up, m)}},
          denseTensor("mlp.down_proj.weight", {d, m}, &F::down)};
}

}  // namespace

Family makePhi3() {
  return {.name = "phi3",
          .defaults = R"({"max_position_embeddings": 4096, "rms_norm_eps": 1e-5})",
          .read = readPhi3,
          .tensors = phi3Tensors};
}

}  // namespace kvlab
