// SPDX-License-Identifier: Apache-2.0
// Records the inputs of the layers of a live pass and the output of attention (state/commit_deeds.h), from the
// addresses in the calls. Only passes over host memory have a witness. Lives as long as the pass; engine thread.
#pragma once
#include <functional>
#include <vector>

#include "core/model/decoder/transformer.h"
#include "core/state/commit_deeds.h"

namespace kvlab {

class Witness {
 public:
  /// plan: adds the plan's statements about its layer to a deed.
  Witness(Transformer& transformer, CommitDeeds& deeds, const CacheLayers& layers, std::function<void(PassDeed&)> plan);
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  /// The input of the layer that is called next, [n, hidden].
  void see(const float* x, std::int64_t n);

 private:
  void writeDown(CacheLayer layer, const LayerPass& one, std::int64_t n, const float* attended);
  std::shared_ptr<const ListDeed> listOf(const LayerPass& one, std::int32_t from, std::int32_t to);

  struct Listed {
    const std::int32_t *slots, *phases;
    std::int32_t from, to;
    std::shared_ptr<const ListDeed> deed;
  };

  Transformer& m_transformer;
  CommitDeeds& m_deeds;
  const CacheLayers m_layers;
  const std::function<void(PassDeed&)> m_plan;
  std::vector<Listed> m_listed;
  std::vector<float> m_input;  // [hidden] last row of the input of the layer that is called next
};

}  // namespace kvlab
