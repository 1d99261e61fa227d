// SPDX-License-Identifier: Apache-2.0
// A text through the decoder in one causal pass, without a cache that anybody edits. From any layer on it can be
// computed again with other weights or windows; the layers before it stay. Engine thread.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/api/ids.h"
#include "core/model/decoder/transformer.h"
#include "core/state/row_pool.h"

namespace kvlab {

class DenseRun {
 public:
  /// At most 1 024 tokens. firstPhase: phase of the first token. Errors: out_of_memory.
  static Result<DenseRun> create(std::shared_ptr<const PlacedWeights> weights, kernels::Backend& backend,
                                 std::span<const std::int32_t> ids, std::int32_t firstPhase = 0);

  /// Keys that queries of a layer see, their own included; 0 = all. At first as in the model.
  void setWindow(Layer layer, int window) { m_windows[at(layer)] = window; }
  void setWeights(std::shared_ptr<const PlacedWeights> weights) { m_transformer->setWeights(std::move(weights)); }

  /// Runs all layers, and keeps the input of each.
  void run();
  /// Runs a layer on the input that run() gave it. Returns its attention output for the last token, [heads*headDim].
  std::vector<float> attended(Layer layer);
  /// Surprise of each token but the first, [tokens - 1] nats, with the layers from `from` on computed again.
  Result<std::vector<double>> losses(Layer from);
  /// Logits of the token behind the last one.
  Result<std::vector<float>> logits();

 private:
  DenseRun() = default;
  std::int64_t count() const { return static_cast<std::int64_t>(m_ids.size()); }
  void layer(Layer layer, std::vector<float>& x);

  std::unique_ptr<Transformer> m_transformer;
  std::vector<std::int32_t> m_ids, m_places, m_phases, m_begin, m_end;  // [tokens]
  std::vector<std::uint64_t> m_tags;                                    // [tokens]
  std::vector<int> m_windows;                                           // [layers]
  std::vector<std::vector<float>> m_given;                              // [layers + 1] inputs, each [tokens, hidden]
  RowPool m_pool;
};

}  // namespace kvlab
