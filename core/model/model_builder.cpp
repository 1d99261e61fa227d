// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_builder.h"

#include <cstring>

#include "core/api/log.h"

namespace kvlab {
namespace {

/// Prefix of the names of a decoder's tensors, and the name of its head.
struct Names {
  const char *decoder, *head;
};
constexpr Names kNames[] = {{"model.", "lm_head.weight"},
                            {"", "lm_head.weight"},  // a base model saved on its own
                            {"model.language_model.", "lm_head.weight"},
                            {"language_model.model.", "language_model.lm_head.weight"}};

Names namesIn(const ModelBuilder::Find& find) {
  for (const Names& names : kNames)
    for (const char* one : {"embed_tokens.weight", "norm.weight"})  // tied embeddings may be stored as the head alone
      if (find(std::string(names.decoder) + one)) return names;
  return kNames[0];
}

/// `outputs` rows of a matrix or values of a vector, from one on.
TensorView rowsOf(const TensorView& whole, std::int64_t first, std::int64_t outputs) {
  TensorView part = whole;
  const std::int64_t rowBytes = whole.bytes() / whole.shape[0];
  part.data = static_cast<const std::byte*>(whole.data) + first * rowBytes;
  part.shape[0] = outputs;
  return part;
}

bool sameValues(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
      std::memcmp(a.data, b.data, static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace

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
  const bool blocks = tensor->data && kernels::dtypeInBlocks(tensor->dtype) && need.shape.size() >= 2;
  if (!*tensor || !(kernels::dtypeSupported(tensor->dtype) || blocks))
    return refuse("is of a type that cannot be computed with", "use the f32, f16 or bf16 checkpoint");
  if (tensor->shape != need.shape)
    return refuse("is " + shapeText(tensor->shape) + ", config.json asks for " + shapeText(need.shape),
                  "use the config.json that belongs to the weights");
  return std::move(*tensor);
}

Status ModelBuilder::take(const Find& find, const TensorNeed& need, TensorView& out) {
  out = KV_TRY(checked(find, need));
  m_model->m_bytes += out.bytes();
  return ok();
}

Status ModelBuilder::layer(const Find& find, Layer l, const std::string& prefix) {
  const ModelConfig& c = m_model->m_config;
  LayerWeights& weights = m_model->m_layers.emplace_back();
  if (c.expertsIn(l)) weights.experts.resize(at(c.experts));
  for (const LayerTensor& one : familyOf(c.type)->tensors(c, l)) {
    TensorView whole;
    KV_TRY(take(find, {layerName(prefix, l, one.suffix), one.shape}, whole));
    if (!one.flat.empty()) whole.shape = one.flat;
    std::int64_t first = 0;
    for (const LayerTensor::Place& place : one.places) {
      place.weight(weights) = rowsOf(whole, first, place.outputs);
      first += place.outputs;
    }
  }
  return ok();
}

/// The embedding and the head. Tied ones are one tensor under either name; where a file has both and they differ, the
/// configuration is wrong.
Status ModelBuilder::ends(const Find& find, const std::string& embed, const std::string& head) {
  Model& m = *m_model;
  ModelConfig& c = m.m_config;
  const std::vector<std::int64_t> shape{c.vocab, c.hidden};
  const auto stored = find(head);
  if (c.tieEmbeddings && stored && !find(embed)) {
    KV_TRY(take(find, {head, shape}, m.m_embed));
  } else {
    KV_TRY(take(find, {embed, shape}, m.m_embed));
  }
  m.m_head = m.m_embed;
  if (c.tieEmbeddings && (!stored || !find(embed) || (*stored && sameValues(*stored, m.m_embed)))) return ok();
  if (c.tieEmbeddings)
    logWarning(m.m_spec + ": config.json ties the head to the embedding, but the weights hold another " + head +
               ", which is used");
  c.tieEmbeddings = false;
  return take(find, {head, shape}, m.m_head);
}

Status ModelBuilder::weights(const Find& find, std::shared_ptr<const void> storage) {
  Model& m = *m_model;
  const ModelConfig& c = m.m_config;
  const Names names = namesIn(find);
  KV_TRY(ends(find, std::string(names.decoder) + "embed_tokens.weight", names.head));
  KV_TRY(take(find, {std::string(names.decoder) + "norm.weight", {c.hidden}}, m.m_finalNorm));
  for (const Layer l : idRange<Layer>(0, c.layers)) KV_TRY(layer(find, l, names.decoder));
  m.m_storage = std::move(storage);
  return ok();
}

}  // namespace kvlab
