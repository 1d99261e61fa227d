// SPDX-License-Identifier: Apache-2.0
// Statistics of attention per row, for policies. They are part of the state, so undo restores them. Each statistic
// keeps the map whose rows its values belong to. Edits do not touch the statistics; readers align them with the present
// map. Values; engine thread.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/api/policy_audit.h"
#include "core/api/policy_spec.h"
#include "core/api/snapshot.h"
#include "core/state/map_runs.h"

namespace kvlab {

/// Lists of one value per row of a map. States share the values that no commit has changed between them.
struct RowValues {
  std::shared_ptr<const ResidencyView> map;
  Column<float> values;  // [lists, map->size()]

  static RowValues of(std::shared_ptr<const ResidencyView> map, std::span<const float> values) {
    return made(std::move(map), values.size(), [&](std::span<float> out) { std::ranges::copy(values, out.begin()); });
  }
  /// fill(std::span<float>) writes `count` values.
  template <class Fill>
  static RowValues made(std::shared_ptr<const ResidencyView> map, std::size_t count, Fill fill) {
    return {std::move(map), Column<float>::make(count, 0, [&](float* out) { fill(std::span<float>(out, count)); })};
  }
};

/// Writes the lists as they are aligned with another map of the same context to out, [lists, map.size()]. Rows without
/// a value get `unknown`.
inline void align(std::span<float> out, const ResidencyView& map, const RowValues& from, int lists, float unknown) {
  const std::size_t rows = map.size(), count = at(lists);
  const bool same = from.map.get() == &map && from.values.size() == out.size();
  if (same) std::ranges::copy(from.values, out.begin());
  else std::ranges::fill(out, unknown);
  if (same || !from.map || from.values.size() != count * from.map->size()) return;
  const std::span<const LedgerId> now = map.ledger.span(), old = from.map->ledger.span();
  forCommonRuns(old.first(std::min(old.size(), from.map->size())), now.first(std::min(now.size(), rows)),
                [&](std::size_t was, std::size_t is, std::size_t run) {
                  for (std::size_t list = 0; list < count; ++list)
                    std::copy_n(&from.values[list * from.map->size() + was], run, &out[list * rows + is]);
                });
}

/// The lists themselves, aligned.
inline std::vector<float> alignedWith(const ResidencyView& map, const RowValues& from, int lists, float unknown) {
  std::vector<float> out(at(lists) * map.size());
  align(out, map, from, lists, unknown);
  return out;
}

/// First and second moments of a layer's queries before rotation.
struct QueryMoments {
  std::vector<double> mean;        // [heads, headDim]
  std::vector<double> covariance;  // [heads, headDim, headDim]
};

/// [kvHeads] means KV heads of the cache layer.
struct LayerPolicyState {
  RowValues received;  // [kvHeads] attention received so far, summed over queries, mean over the group
  RowValues observed;  // [kvHeads] attention from the last `observe` queries, mean over queries and group
  RowValues scores;    // [1] scores of the last decision, after the head rule
  Column<std::int32_t> scoredBy = {};           // LayerGroup::writers then, if scores stay with their rows; else empty
  std::shared_ptr<const QueryMoments> queries;  // by query head of the cache layer
  std::optional<std::int32_t> budget;           // adaptive head budget, once it is divided among the heads
  std::string memory = {};                      // bytes that an added policy keeps
};

/// What an added policy decided in a layer behind a pass. History and captures keep it, so that the same session comes
/// about without the policy's rule.
struct Decided {
  CacheLayer layer{0};
  std::vector<LedgerId> left = {};  // rows that left
  std::optional<std::int32_t> budget = {};
  std::string memory = {};

  bool operator==(const Decided&) const = default;
};
using Decisions = std::vector<Decided>;  // layers where something was decided

/// Attention that future queries pay, by context position of a recorded run.
struct FutureMass {
  std::int32_t rows = 0;                 // rows of the record
  std::vector<std::vector<float>> mass;  // [layers of the model][lists, rows]; lists = kvHeads, or 1
};

struct NewestAttention;
class GateWeights;

struct PolicyState {
  std::vector<PolicySpec> specs;                // [cache layers]
  std::shared_ptr<const GateWeights> gates;     // null if no policy uses gates
  std::shared_ptr<const FutureMass> future;     // null if no policy uses a record
  std::shared_ptr<const NewestAttention> seen;  // attention that was already added to the statistics
  bool prefilling = false;                      // a prompt is being appended in parts
  bool atPromptEnd = false;                     // the last decision was that at the end of a prompt
  std::int32_t promptRows = 0;                  // length of the context when the last prompt ended
  std::vector<LayerPolicyState> layers;         // [cache layers]
  PolicyAudit audit;
  std::shared_ptr<const Decisions> decided;  // by added policies behind the last pass; null: there is none
};

}  // namespace kvlab
