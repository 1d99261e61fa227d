// SPDX-License-Identifier: Apache-2.0
// Applies the policies of a session's layers to the state after a forward pass: adds the statistics of the pass,
// selects rows, and returns evictions as actions. Changes nothing itself. Engine thread. semantics.md, section 6.
#pragma once
#include <limits>
#include <vector>

#include "core/api/action.h"
#include "core/edit/compute_rows.h"
#include "core/policy/policy.h"
#include "core/state/commit_deeds.h"

namespace kvlab {

/// Number of heads of a cache layer.
struct CacheHeads {
  int query = 1, kv = 1, dim = 1;
  CacheLayers layers = {};
};
CacheHeads headsOf(const ModelConfig& config, const CacheLayers& layers);

struct PrunerInput {
  const CacheState& state;  // after the pass, with its policies
  Transformer& transformer;
  const CacheStore& store;
  PassKind pass = PassKind::Decode;
  bool holds = false;                  // only statistics are taken: no row leaves
  const Decisions* decided = nullptr;  // decisions of added policies, to be repeated; null: they decide
  std::int32_t mostRows = std::numeric_limits<std::int32_t>::max();  // of a layer that leave room for the next tick
};

struct Pruned {
  std::vector<Evict> evictions;  // at most one per cache layer
  std::shared_ptr<const PolicyState> state;
};

/// The statistics that the policies need.
unsigned statisticsOf(const std::vector<PolicySpec>& specs);
/// The numbers of last prompt queries that policies observe at the end of a prompt, each number once; 0 = all queries.
std::vector<std::int32_t> observations(const std::vector<PolicySpec>& specs);

/// A copy of the policy state that includes the attention of a prompt's last `observe` queries, in layers that request
/// this number of queries. If no row asked anything, the earlier observation stays.
std::shared_ptr<const PolicyState> withObservation(const PolicyState& state, const CacheHeads& heads,
                                                   std::int32_t observe, const Observation& seen);

/// Errors: device.
Result<Pruned> prune(const PrunerInput& input);

}  // namespace kvlab
