// SPDX-License-Identifier: Apache-2.0
// A decoder ready to run: configuration, weights by role, tokenizer. Weights of a directory are
// read in place from the mapped files; weights of a synthetic model come from a counter-based
// generator. Every shape is checked against the configuration. Immutable and shared; any thread.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/progress.h"
#include "core/model/families/layer_weights.h"
#include "core/model/files/config.h"
#include "core/model/files/tensor.h"
#include "core/model/tokens/tokenizer.h"

namespace kvlab {

class Model {
 public:
  /// spec: "demo" (resourceDir/demo), a Hugging Face directory, a .gguf file or a folder with one, or
  /// "synthetic:NAME" with options "synthetic:NAME:dtype=f32,seed=3,layers=2". Errors: bad_model,
  /// bad_tokenizer, out_of_memory, cancelled.
  static Result<std::shared_ptr<const Model>> open(const std::string& spec, const std::string& resourceDir,
                                                   const Progress& progress = {});
  /// Names that follow "synthetic:".
  static std::vector<std::string> syntheticNames();

  const std::string& spec() const { return m_spec; }
  const ModelConfig& config() const { return m_config; }
  const TensorView& embed() const { return m_embed; }  // [vocab, hidden]
  const LayerWeights& layer(Layer l) const { return m_layers[at(l)]; }
  const TensorView& finalNorm() const { return m_finalNorm; }  // [hidden]
  const TensorView& head() const { return m_head; }            // [vocab, hidden]; embed() where tied
  const Tokenizer& tokenizer() const { return *m_tokenizer; }
  /// Jinja text that writes a conversation as the model expects it; empty = the files have none.
  const std::string& chatTemplate() const { return m_chatTemplate; }
  /// Storage type of the embedding, which is that of the whole file in practice; f32 for types in blocks.
  kernels::DType dtype() const { return kernels::dtypeInBlocks(m_embed.dtype) ? kernels::DType::f32 : m_embed.dtype; }
  std::int64_t weightBytes() const { return m_bytes; }
  /// The same model with other weights of the same shapes in a layer. Whoever made them keeps their bytes alive.
  std::shared_ptr<const Model> withLayer(Layer layer, const LayerWeights& weights) const;
  /// The same weights read by another configuration of the same shapes.
  std::shared_ptr<const Model> withConfig(const ModelConfig& config) const;

 private:
  friend class ModelBuilder;
  friend Result<std::shared_ptr<const Model>> withInt8Weights(std::shared_ptr<const Model>, const Progress&);
  Model() = default;
  Model(const Model&) = default;

  std::string m_spec;
  ModelConfig m_config;
  TensorView m_embed, m_finalNorm, m_head;
  std::vector<LayerWeights> m_layers;
  std::shared_ptr<const Tokenizer> m_tokenizer;
  std::string m_chatTemplate;
  std::int64_t m_bytes = 0;
  std::shared_ptr<const void> m_storage;  // mapped files or drawn weights
};

}  // namespace kvlab
