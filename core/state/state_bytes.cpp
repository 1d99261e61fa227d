// SPDX-License-Identifier: Apache-2.0
#include "core/state/state_bytes.h"

#include <algorithm>

#include "core/state/cache_state.h"

namespace kvlab {
namespace {

/// All buffers of a state but those of its ledger.
class Collector : public StateBuffers {
 public:
  explicit Collector(const CacheState& state) {
    add(state.context), add(state.phases), add(state.brightness), add(state.birthPhases), add(state.contextSums);
    add(state.ramp), add(state.groups), add(state.groupOf), add(state.pasts), add(state.gateScores);
    for (const LayerGroup& group : state.groups) addGroup(group);
    for (const Column<RowPast>& column : state.pasts) add(column);
    for (const Column<float>& column : state.gateScores) add(column);
    if (state.logits) add(*state.logits);
    addAttention(state.attention.get()), addAttention(state.received.get()), addAttention(state.read.get());
    if (state.policy) addPolicy(*state.policy);
    state.kind->addTo(*this);
    sort();
  }

 private:
  void addMap(const ResidencyView* map) {
    if (!map) return;
    add(map, sizeof *map);
    add(map->ledger), add(map->slotOf), add(map->phases);
    if (map->otherPhases) add(*map->otherPhases);
  }

  void addGroup(const LayerGroup& group) {
    addMap(group.map.get()), addMap(group.all.get());
    add(group.evicted), add(group.provenance), add(group.writers), add(group.idSums), add(group.phasedSums);
  }

  void addAttention(const NewestAttention* attention) {
    if (!attention) return;
    add(attention, sizeof *attention);
    add(attention->maps);
    for (const auto& map : attention->maps) addMap(map.get());
    for (const auto* lists :
         {&attention->mass, &attention->perHead, &attention->received, &attention->receivedPerHead}) {
      add(*lists);
      for (const std::vector<float>& list : *lists) add(list);
    }
  }

  void addValues(const RowValues& values) { addMap(values.map.get()), add(values.values); }

  void addPolicy(const PolicyState& policy) {
    add(&policy, sizeof policy);
    add(policy.specs), add(policy.layers), add(policy.audit.layers);
    for (const LayerAudit& audit : policy.audit.layers) add(audit.contests);
    addAttention(policy.seen.get());
    for (const LayerPolicyState& layer : policy.layers) {
      addValues(layer.received), addValues(layer.observed), addValues(layer.scores);
      add(layer.scoredBy);
      add(layer.memory.data(), layer.memory.size());
      if (!layer.queries) continue;
      add(layer.queries->mean), add(layer.queries->covariance);
    }
  }
};

}  // namespace

void StateBuffers::sort() {
  std::ranges::sort(m_all);
  m_all.erase(std::unique(m_all.begin(), m_all.end()), m_all.end());
}

std::int64_t StateBuffers::beside(const StateBuffers& other) const {
  std::int64_t bytes = 0;
  auto theirs = other.m_all.begin();
  for (const auto& [address, size] : m_all) {
    while (theirs != other.m_all.end() && theirs->first < address) ++theirs;
    if (theirs == other.m_all.end() || theirs->first != address) bytes += size;
  }
  return bytes;
}

std::int64_t bytesBeside(const CacheState& state, const CacheState& other) {
  return std::int64_t{sizeof state} + state.ledger.bytesBeside(other.ledger) +
      Collector(state).beside(Collector(other));
}

}  // namespace kvlab
