// SPDX-License-Identifier: Apache-2.0
#include "core/state/state_bytes.h"

#include <algorithm>

#include "core/state/cache_state.h"

namespace kvlab {
namespace {

/// All buffers of a state but those of its ledger, each once, ascending.
class Buffers {
 public:
  explicit Buffers(const CacheState& state) {
    add(state.context), add(state.phases), add(state.brightness), add(state.birthPhases), add(state.contextSums);
    add(state.ramp), add(state.groups), add(state.groupOf), add(state.pasts), add(state.gateScores);
    for (const LayerGroup& group : state.groups) addGroup(group);
    for (const Column<RowPast>& column : state.pasts) add(column);
    for (const Column<float>& column : state.gateScores) add(column);
    if (state.logits) add(*state.logits);
    addAttention(state.attention.get()), addAttention(state.received.get()), addAttention(state.read.get());
    if (state.policy) addPolicy(*state.policy);
    if (state.wlod) addWlod(*state.wlod);
    std::ranges::sort(m_all);
    m_all.erase(std::unique(m_all.begin(), m_all.end()), m_all.end());
  }

  std::int64_t beside(const Buffers& other) const {
    std::int64_t bytes = 0;
    auto theirs = other.m_all.begin();
    for (const auto& [address, size] : m_all) {
      while (theirs != other.m_all.end() && theirs->first < address) ++theirs;
      if (theirs == other.m_all.end() || theirs->first != address) bytes += size;
    }
    return bytes;
  }

 private:
  void add(const void* address, std::size_t bytes) {
    if (address && bytes) m_all.emplace_back(address, static_cast<std::int64_t>(bytes));
  }
  template <class T>
  void add(const Column<T>& column) {
    add(column.data(), column.roomBytes());
  }
  template <class T>
  void add(const std::vector<T>& list) {
    add(list.data(), list.capacity() * sizeof(T));
  }
  void add(const std::vector<bool>& list) { add(&list, list.capacity() / 8); }

  void addMap(const ResidencyView* map) {
    if (!map) return;
    add(map, sizeof *map);
    add(map->ledger), add(map->slotOf), add(map->phases);
    if (map->otherPhases) add(*map->otherPhases);
  }

  void addGroup(const LayerGroup& group) {
    addMap(group.map.get()), addMap(group.all.get());
    add(group.provenance), add(group.writers), add(group.idSums), add(group.phasedSums);
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
      if (!layer.queries) continue;
      add(layer.queries->mean), add(layer.queries->covariance);
    }
  }

  void addWlod(const WlodState& wlod) {
    add(&wlod, sizeof wlod);
    add(wlod.tree.tokens()), add(wlod.tree.dirty());
    for (int level = 1; level <= kTopLevel; ++level) {
      const MegaContext::Level& gists = wlod.tree.level(level);
      add(gists.gists), add(gists.rows);
    }
    add(wlod.context.entries()), add(wlod.context.changed());
    add(wlod.rows), add(wlod.ledger), add(wlod.stale), add(wlod.mass), add(wlod.scores), add(wlod.rounds);
    for (const auto& round : wlod.rounds) add(round->decisions);
  }

  std::vector<std::pair<const void*, std::int64_t>> m_all;
};

}  // namespace

std::int64_t bytesBeside(const CacheState& state, const CacheState& other) {
  return std::int64_t{sizeof state} + state.ledger.bytesBeside(other.ledger) + Buffers(state).beside(Buffers(other));
}

}  // namespace kvlab
