// SPDX-License-Identifier: Apache-2.0
// The built-in compressor `nearest`: one vocabulary entry for a pair of tokens. semantics.md,
// section 4. Owned by a session; engine thread.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/model/model.h"

namespace kvlab {

class NearestCompressor {
 public:
  explicit NearestCompressor(std::shared_ptr<const Model> model);

  /// The vocabulary entry nearest by cosine to the brightness-weighted mean of the pair's embeddings (the plain mean if
  /// both are 0). Special ids are excluded. Nothing if the best cosine is below minCosine.
  std::optional<TokenId> replacement(TokenId a, float brightnessA, TokenId b, float brightnessB, double minCosine);

 private:
  void prepare();

  std::shared_ptr<const Model> m_model;
  std::vector<float> m_embeddings;  // [vocab, hidden], computed on first use
  std::vector<double> m_norms;      // [vocab]
};

}  // namespace kvlab
