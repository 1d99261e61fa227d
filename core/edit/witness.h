// SPDX-License-Identifier: Apache-2.0
// Records what the calls of a live pass were told (state/commit_deeds.h), from the addresses in the calls: on the host
// at the calls of attention, with the input of each layer and the output of attention; on a device after the pass, in
// which no call changes the lists that others read, because a recorded pass calls nobody. There the calls that compute
// the newest row keep its input and output for full checks; of other calls these two are not known. Lives as long as
// the pass; engine thread.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "core/model/decoder/transformer.h"
#include "core/state/commit_deeds.h"
#include "kernels/backend/staging.h"

namespace kvlab {

class Witness {
 public:
  /// plan: adds the plan's statements about its layer to a deed. staging: the pass's own.
  Witness(Transformer& transformer, kernels::Staging& staging, CommitDeeds& deeds, const CacheLayers& layers,
          std::function<void(PassDeed&)> plan);
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  /// The layers' inputs are asked for.
  bool sees() const { return m_transformer.backend().onHost(); }
  /// The input of the layer that is called next, [n, hidden].
  void see(const float* x, std::int64_t n);
  /// On a device: makes room for what the pass keeps of its last row.
  void keep(WholePass& whole);
  /// On a device: a call of a pass, over a list of so many rows.
  void told(const WholePass& whole, CacheLayer layer, std::int64_t rows);
  /// The staging has delivered.
  void finish();

 private:
  /// attended: of the last row; null where it is not known.
  void writeDown(CacheLayer layer, const LayerPass& one, std::int64_t n, const float* attended);
  template <class T>
  const T* brought(const T* from, std::int64_t count);
  std::shared_ptr<const ListDeed> listOf(const LayerPass& one, std::int32_t from, std::int32_t to);

  struct Listed {
    const std::int32_t *slots, *phases;
    std::int32_t from, to;
    std::shared_ptr<const ListDeed> deed;
  };

  /// A call with the addresses of host lists, which the staging fills.
  struct Told {
    CacheLayer layer;
    LayerPass one;
    std::int64_t n;
    bool kept;
  };

  Transformer& m_transformer;
  kernels::Staging& m_staging;
  CommitDeeds& m_deeds;
  const CacheLayers m_layers;
  const std::function<void(PassDeed&)> m_plan;
  std::vector<Listed> m_listed;
  std::vector<Told> m_told;
  std::vector<float> m_inputs, m_attended;                                  // [layers, hidden], [layers, heads*headDim]
  std::deque<std::vector<std::byte>> m_lists;                               // of a device
  std::map<std::pair<const void*, std::int64_t>, const void*> m_hostLists;  // address and bytes on a device
  std::vector<float> m_input;  // [hidden] last row of the input of the layer that is called next
};

}  // namespace kvlab
