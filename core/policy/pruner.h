// SPDX-License-Identifier: Apache-2.0
// Applies the policies of a session's layers to the state that a forward pass has left. The pruner takes over
// the statistics of the pass, decides, and returns evictions as actions for the knife. The pruner itself changes
// nothing. Engine thread. semantics.md, section 6.
#pragma once
#include <vector>

#include "core/api/action.h"
#include "core/edit/compute_rows.h"
#include "core/policy/policy.h"

namespace kvlab {

/// The pass that made a state: a tick or an edit, a part of a prompt (nothing leaves yet), or the end of a prompt.
enum class PassKind : std::uint8_t { Decode, PromptPart, PromptEnd };

/// The heads that a cache layer has.
struct CacheHeads {
  int query = 1, kv = 1, dim = 1;
  CacheLayers layers = {};
};
CacheHeads headsOf(const ModelConfig& config, const CacheLayers& layers);

struct PrunerInput {
  const CacheState& state;  // after the pass, with its policies; rows lie where its maps say
  Transformer& transformer;
  const CacheStore& store;
  PassKind pass = PassKind::Decode;
};

struct Pruned {
  std::vector<Evict> evictions;  // at most one per cache layer
  std::shared_ptr<const PolicyState> state;
};

/// Statistics that some policy needs.
unsigned statisticsOf(const std::vector<PolicySpec>& specs);
/// How many last queries of a prompt policies want to see again at its end, each number once; 0 = all queries.
std::vector<std::int32_t> observations(const std::vector<PolicySpec>& specs);

/// The policies' state with the attention of a prompt's last `observe` queries, for the layers that asked for this
/// number of queries.
std::shared_ptr<const PolicyState> withObservation(const PolicyState& state, const CacheHeads& heads,
                                                   std::int32_t observe, const Observation& seen);

/// Errors: device.
Result<Pruned> prune(const PrunerInput& input);

}  // namespace kvlab
