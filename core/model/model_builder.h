// SPDX-License-Identifier: Apache-2.0
// Puts a Model together from tensors with Hugging Face names, checking every shape and type.
#pragma once
#include <functional>

#include "core/model/families/family.h"
#include "core/model/model.h"

namespace kvlab {

class ModelBuilder {
 public:
  /// Null data = the file has it in a type kernels cannot read; no value = not there.
  using Find = std::function<std::optional<TensorView>(const std::string& name)>;

  ModelBuilder(std::string spec, ModelConfig config);
  /// Fills the weights; storage keeps their bytes alive.
  Status weights(const Find& find, std::shared_ptr<const void> storage);
  void tokenizer(std::shared_ptr<const Tokenizer> own) { m_model->m_tokenizer = std::move(own); }
  void chatTemplate(std::string text) { m_model->m_chatTemplate = std::move(text); }
  std::shared_ptr<const Model> build() { return std::move(m_model); }

 private:
  Result<TensorView> checked(const Find& find, const TensorNeed& need) const;
  Status take(const Find& find, const TensorNeed& need, TensorView& out);
  Status ends(const Find& find, const std::string& embed, const std::string& head);
  Status layer(const Find& find, Layer layer, const std::string& prefix);

  std::shared_ptr<Model> m_model;
};

}  // namespace kvlab
