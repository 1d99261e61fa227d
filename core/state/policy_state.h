// SPDX-License-Identifier: Apache-2.0
// Statistics of attention by row, for policies. They are part of the state, so undo brings them back.
// Statistics name the map whose rows they belong to; edits leave them as they are, and readers align
// them with the present map. Values; engine thread.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/api/policy_audit.h"
#include "core/api/policy_spec.h"
#include "core/api/snapshot.h"

namespace kvlab {

/// Lists of values for the rows of a map.
struct RowValues {
  std::shared_ptr<const ResidencyView> map;
  std::vector<float> values;  // [lists, map->size()]
};

/// The lists for the rows of another map of the same context; `unknown` for rows that have no value.
/// [lists, map.size()]
std::vector<float> alignedWith(const ResidencyView& map, const RowValues& values, int lists, float unknown);

/// First and second moments of a layer's queries before rotation.
struct QueryMoments {
  std::vector<double> mean;        // [heads, headDim]
  std::vector<double> covariance;  // [heads, headDim, headDim]
};

/// Lists are by KV head of the cache layer.
struct LayerPolicyState {
  RowValues received;  // [kvHeads] attention received so far, summed over queries, mean over the group
  RowValues observed;  // [kvHeads] attention by the last `observe` queries, mean over queries and group
  RowValues scores;    // [1] of the last decision, after the head rule
  std::shared_ptr<const QueryMoments> queries;  // of the cache layer's query heads
  std::optional<std::int32_t> budget;           // of an adaptive head budget, once it is shared out
};

/// Attention to come, by place in the context of a recorded run.
struct FutureMass {
  std::int32_t rows = 0;                 // of the record
  std::vector<std::vector<float>> mass;  // [layers of the model][lists, rows]; lists = kvHeads, or 1
};

struct NewestAttention;
class GateWeights;

struct PolicyState {
  std::vector<PolicySpec> specs;                // [cache layers]
  std::shared_ptr<const GateWeights> gates;     // where a policy asks them
  std::shared_ptr<const FutureMass> future;     // likewise
  std::shared_ptr<const NewestAttention> seen;  // whose attention is taken over already
  bool prefilling = false;                      // a prompt comes in chunks
  std::int32_t promptRows = 0;                  // length of the context when the last prompt ended
  std::vector<LayerPolicyState> layers;         // [cache layers]
  PolicyAudit audit;
};

}  // namespace kvlab
