// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_builder.h"

namespace kvlab {
namespace {

struct Role {
  const char* suffix;
  TensorView LayerWeights::*member;
  std::vector<std::int64_t> shape;
  bool present = true;
};

/// The tensors of one layer: name in the file, place in LayerWeights, shape.
std::vector<Role> layerRoles(const ModelConfig& c) {
  const std::int64_t d = c.hidden, q = std::int64_t{c.heads} * c.headDim, kv = std::int64_t{c.kvHeads} * c.headDim,
                     m = c.intermediate, h = c.headDim;
  using W = LayerWeights;
  return {{"input_layernorm.weight", &W::inputNorm, {d}},
          {"self_attn.q_proj.weight", &W::q, {q, d}},
          {"self_attn.q_proj.bias", &W::qBias, {q}, c.attentionBias},
          {"self_attn.k_proj.weight", &W::k, {kv, d}},
          {"self_attn.k_proj.bias", &W::kBias, {kv}, c.attentionBias},
          {"self_attn.v_proj.weight", &W::v, {kv, d}},
          {"self_attn.v_proj.bias", &W::vBias, {kv}, c.attentionBias},
          {"self_attn.o_proj.weight", &W::o, {d, q}},
          {"self_attn.o_proj.bias", &W::oBias, {d}, c.outputBias},
          {"self_attn.q_norm.weight", &W::qNorm, {h}, c.qkNorm},
          {"self_attn.k_norm.weight", &W::kNorm, {h}, c.qkNorm},
          {"post_attention_layernorm.weight", &W::postNorm, {d}},
          {"mlp.gate_proj.weight", &W::gate, {m, d}},
          {"mlp.up_proj.weight", &W::up, {m, d}},
          {"mlp.down_proj.weight", &W::down, {d, m}}};
}

std::string layerName(const std::string& prefix, Layer layer, const char* suffix) {
  return prefix + "layers." + std::to_string(layer.value()) + "." + suffix;
}

}  // namespace

std::vector<TensorNeed> tensorNeeds(const ModelConfig& c, const std::string& prefix) {
  const std::int64_t d = c.hidden, vocab = c.vocab;
  std::vector<TensorNeed> needs{{prefix + "embed_tokens.weight", {vocab, d}}};
  const auto roles = layerRoles(c);
  for (const Layer l : idRange<Layer>(0, c.layers))
    for (const Role& role : roles)
      if (role.present) needs.push_back({layerName(prefix, l, role.suffix), role.shape});
  needs.push_back({prefix + "norm.weight", {d}});
  if (!c.tieEmbeddings) needs.push_back({"lm_head.weight", {vocab, d}});
  return needs;
}

ModelBuilder::ModelBuilder(std::string spec, ModelConfig config) : m_model(new Model()) {
  m_model->m_spec = std::move(spec);
  m_model->m_config = std::move(config);
}

Result<TensorView> ModelBuilder::checked(const Find& find, const TensorNeed& need) const {
  const auto refuse = [&](const std::string& why, const std::string& remedy) {
    Error error{"bad_model", "cannot use model " + m_model->m_spec, "tensor \"" + need.name + "\" " + why, remedy};
    error.field = need.name;
    return error;
  };
  auto tensor = find(need.name);
  if (!tensor) return refuse("is missing", "use a complete checkpoint, or correct config.json");
  const bool blocks = tensor->data && kernels::dtypeInBlocks(tensor->dtype) && need.shape.size() == 2;
  if (!*tensor || !(kernels::dtypeSupported(tensor->dtype) || blocks))
    return refuse("is of a type that cannot be computed with", "use the f32, f16 or bf16 checkpoint");
  if (tensor->shape != need.shape)
    return refuse("is " + shapeText(tensor->shape) + ", config.json asks for " + shapeText(need.shape),
                  "use the config.json that belongs to the weights");
  return std::move(*tensor);
}

Status ModelBuilder::weights(const Find& find, std::shared_ptr<const void> storage) {
  Model& m = *m_model;
  const ModelConfig& c = m.m_config;
  // A base model saved on its own lacks the "model." in front.
  const bool bare = !find("model.embed_tokens.weight") && find("embed_tokens.weight");
  const std::string prefix = bare ? "" : "model.";
  const auto take = [&](const TensorNeed& need, TensorView& out) -> Status {
    out = KV_TRY(checked(find, need));
    m.m_bytes += out.bytes();
    return ok();
  };
  const std::int64_t d = c.hidden, vocab = c.vocab;
  KV_TRY(take({prefix + "embed_tokens.weight", {vocab, d}}, m.m_embed));
  KV_TRY(take({prefix + "norm.weight", {d}}, m.m_finalNorm));
  m.m_head = m.m_embed;
  if (!c.tieEmbeddings) KV_TRY(take({"lm_head.weight", {vocab, d}}, m.m_head));
  const auto roles = layerRoles(c);
  for (const Layer l : idRange<Layer>(0, c.layers)) {
    LayerWeights& layer = m.m_layers.emplace_back();
    for (const Role& role : roles)
      if (role.present) KV_TRY(take({layerName(prefix, l, role.suffix), role.shape}, layer.*role.member));
  }
  m.m_storage = std::move(storage);
  return ok();
}

void ModelBuilder::tokenizer(std::shared_ptr<const Tokenizer> tokenizer) {
  m_model->m_tokenizer = std::move(tokenizer);
}

}  // namespace kvlab
