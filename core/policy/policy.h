// SPDX-License-Identifier: Apache-2.0
// A policy gives every row of a layer a score. The selection is the same for all policies (selection.h): bands are
// protected after scoring, and the rows with the lowest scores leave. core/api/policies.inc lists the policies.
// Stateless; engine thread. semantics.md, section 6.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/api/ids.h"
#include "core/api/policy_spec.h"
#include "core/state/policy_state.h"

namespace kvlab::kernels {
class Backend;
}

namespace kvlab {

/// Statistics that a policy needs; other fields of LayerRows stay empty.
enum Statistic : unsigned {
  kNoStatistic = 0,
  kReceived = 1u << 0,  // attention received so far
  kObserved = 1u << 1,  // attention by the last queries
  kNewest = 1u << 2,    // attention by the newest query
  kKeys = 1u << 3,      // as attention reads them, rotated
  kValues = 1u << 4,
  kBrightness = 1u << 5,
  kMoments = 1u << 6,  // moments of the queries
  kGates = 1u << 7,    // predicted log4 of the rows' lifespans
  kFuture = 1u << 8,   // attention from future queries, from a recorded run
};

/// The rows of one cache layer after a forward pass, in context order. Heads are those of the cache layer.
struct LayerRows {
  CacheLayer layer;
  int heads = 1, kvHeads = 1, headDim = 1;
  std::span<const LedgerId> ledger = {};   // [rows]
  std::span<const float> received = {};    // [kvHeads, rows]
  std::span<const float> observed = {};    // [kvHeads, rows]
  std::span<const float> newest = {};      // [rows] mean over query heads
  std::span<const float> keys = {};        // [rows, kvHeads, headDim]
  std::span<const float> values = {};      // [rows, kvHeads, headDim]
  std::span<const float> brightness = {};  // [rows]
  std::span<const float> gates = {};       // [kvHeads, rows]; NaN for rows that were not scored
  std::span<const float> future = {};      // [lists, rows]; NaN for rows that the record lacks
  const QueryMoments* queries = nullptr;
  std::span<const double> frequencies = {};  // [headDim/2] radians per phase
  double nextPhase = 0;                      // phase of the next query
  double scoreDim = 0;                       // q . k is divided by its root; 0 = headDim
  kernels::Backend* host = nullptr;          // for products; null: the policy makes one of a single thread

  std::size_t rows() const { return ledger.size(); }
};

struct Policy {
  unsigned needs = kNoStatistic;
  /// Scores [lists, rows]; higher scores stay; lists is kvHeads, or 1 if scores do not depend on the head. Null: keeps
  /// every row.
  std::vector<float> (*scores)(const PolicySpec& spec, const LayerRows& rows) = nullptr;
};

/// Scores that are a list of LayerRows as it is.
template <std::span<const float> LayerRows::*List>
std::vector<float> asListed(const PolicySpec&, const LayerRows& rows) {
  return {(rows.*List).begin(), (rows.*List).end()};
}

/// Error (code bad_manifest) for an unknown name; the error suggests similar names.
Result<const Policy*> findPolicy(std::string_view name);
/// The same error for the first layer with an unknown policy.
Status knownPolicies(const std::vector<PolicySpec>& specs);
/// The policy of a name that PolicySpec accepts. Throws ErrorThrown for any other name.
const Policy& policyOf(std::string_view name);

}  // namespace kvlab
