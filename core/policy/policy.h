// SPDX-License-Identifier: Apache-2.0
// A policy gives every row of a layer a score. The selection is the same for all policies (selection.h): bands are
// protected after scoring, and the rows with the lowest scores leave. core/api/policies.inc lists the policies.
// Stateless; engine thread. semantics.md, section 6.
#pragma once
#include <functional>
#include <initializer_list>
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
/// A statistic by its name, which is that of its field in LayerRows; kMoments are "queries".
struct StatisticName {
  const char* name;
  Statistic statistic;
};
std::span<const StatisticName> statistics();
/// The statistics of a list of names, for a policy. Error: bad_policy.
Result<unsigned> statisticsNamed(const std::string& policy, const nlohmann::json& names);

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
  std::string_view memory = {};              // what an added policy remembers of the layer

  std::size_t rows() const { return ledger.size(); }
};

/// Calls visit(name, list, shape) for each list of statistics that the rows have, as programs outside know them; the
/// lists are spans of float or double, the shape has the slowest dimension first.
template <class Visit>
void visitStatistics(const LayerRows& rows, const Visit& visit) {
  using Shape = std::initializer_list<std::size_t>;
  const std::size_t n = rows.rows(), heads = at(rows.kvHeads), dim = at(rows.headDim);
  const auto list = [&](const char* name, std::span<const float> values, Shape shape) {
    if (!values.empty() || n == 0) visit(name, values, shape);
  };
  list("received", rows.received, {heads, n});
  list("observed", rows.observed, {heads, n});
  list("newest", rows.newest, {n});
  list("keys", rows.keys, {n, heads, dim});
  list("values", rows.values, {n, heads, dim});
  list("brightness", rows.brightness, {n});
  list("gates", rows.gates, {heads, n});
  list("future", rows.future, {n ? rows.future.size() / n : 0, n});
  if (!rows.queries) return;
  visit("query_mean", std::span<const double>(rows.queries->mean), Shape{at(rows.heads), dim});
  visit("query_covariance", std::span<const double>(rows.queries->covariance), Shape{at(rows.heads), dim, dim});
}

struct Policy {
  using Scores = std::function<Result<std::vector<float>>(const PolicySpec& spec, const LayerRows& rows)>;
  using Observes = std::function<Result<std::string>(const PolicySpec& spec, const LayerRows& rows)>;

  unsigned needs = kNoStatistic;
  /// Scores [lists, rows]; higher scores stay; lists is kvHeads, or 1 if scores do not depend on the head. Null: keeps
  /// every row.
  Scores scores = {};
  /// What the policy remembers of a layer behind a pass, as bytes; asked in every tick. Null: nothing.
  Observes observes = {};
  bool added = false;         // by addPolicy(): history and captures keep its decisions
  bool ofRow = false;         // a score follows from its row's key alone (needs is kKeys) and stays while the row does
  std::string revision = {};  // of an added rule: another text for another rule; empty = not known
};

/// Scores that are a list of LayerRows as it is.
template <std::span<const float> LayerRows::*List>
std::vector<float> asListed(const PolicySpec&, const LayerRows& rows) {
  return {(rows.*List).begin(), (rows.*List).end()};
}

/// Error (code bad_manifest) for an unknown name; the error suggests similar names.
Result<const Policy*> findPolicy(std::string_view name);
/// The same error for the first layer with an unknown policy, or with an expression that scores no rows.
Status knownPolicies(const std::vector<PolicySpec>& specs);
/// Adds a policy whose rule comes from outside, as addPolicyName(); sessions ask the latest of a name. Without `scores`
/// it can decide nothing, and what it decided before is repeated. Both functions are called by engine threads. Errors:
/// bad_policy. Any thread.
Status addPolicy(const std::string& name, const std::string& help, const nlohmann::json& options, Policy policy);
/// All added policies, in the order of their adding, as declarePolicies() reads them: a list of {name, help, needs,
/// options, observes, revision}; null where there are none. Any thread.
nlohmann::json addedPolicies();
/// Adds those of the list whose names nobody has added, without rules. Error: bad_policy.
Status declarePolicies(const nlohmann::json& list);

/// The statistics that a policy needs with its settings: those of its name, or those that its expression asks for.
unsigned needsOf(const PolicySpec& spec);
/// The policy of a name that PolicySpec accepts. Throws ErrorThrown for any other name.
const Policy& policyOf(std::string_view name);

}  // namespace kvlab
