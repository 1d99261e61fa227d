// SPDX-License-Identifier: Apache-2.0
// Measures a session: fresh logits, attention, drift, quantisation error, lifespans, scores of policies, exactness,
// state hash. Also the fault drill, which damages it. Only fault() adds an entry to the history. Engine thread.
#pragma once
#include "core/analysis/lifespans.h"
#include "core/session/session.h"

namespace kvlab {

/// Logits and attention of the last row. Runs a pass only if an edit made them stale.
Status refreshLogits(Session& session);
/// Compares live rows with rebuilt ones; cached until the state changes. attention: also the output of attention with
/// that over all rows (attention_error.h); another pass.
Result<Drift> measureDrift(Session& session, bool attention = false);
/// Error of each stored row against the value computed for it; cached until the state changes. With types: the error
/// that a session would have that stores its rows in them; not cached.
Result<Quantisation> measureQuantisation(Session& session, const RowTypes& types = {});
/// Records how long keys receive attention when nothing is evicted; reads no live row.
Result<Lifespans> recordLifespans(Session& session, const LifespanRules& rules);
/// Lifespans predicted by gates next to those a fresh pass records; cached until the next call. Keeps at most `points`
/// points per head for plots. Errors: no_gates, and those of recordLifespans.
Result<std::shared_ptr<const LifespanView>> measureLifespans(Session& session, std::size_t points);
/// Attention of the last row by query head in one cache layer: [heads][rows of its residency map].
Result<std::vector<std::vector<float>>> attentionPerHead(Session& session, CacheLayer layer);
/// Requests the newest row's attention of every layer from all later passes. By default a pass returns the last layer,
/// which brightness needs, and layers that a policy, a recent tile or a recent expression needs.
void keepAttention(Session& session);
/// The same for the next ticks only.
void keepAttentionForNow(Session& session);
/// Scores that the policy of a cache layer last gave its rows, [rows]; NaN for rows it did not score.
std::vector<float> scoresOf(const CacheState& state, CacheLayer layer);
/// Sets the future attention mass that the oracle policy uses where its spec names no record. It serves from the next
/// tick on; no commit is made.
void setFuture(Session& session, std::shared_ptr<const FutureMass> future);
const ExactnessMap& exactnessMap(const Session& session);
std::string stateHash(const Session& session);
std::string textOf(const Session& session, LedgerId id);
/// Plants a known bug, or with an empty name takes it away. History does not know of it. Refused unless the manifest
/// enables faults. Errors: faults_off, bad_bug.
Status plantBug(Session& session, const std::string& name);
/// Injects a corruption or arms a failure. Refused unless the manifest enables faults. A corruption makes a commit.
Result<nlohmann::json> fault(Session& session, const std::string& kind, const nlohmann::json& params);

}  // namespace kvlab
