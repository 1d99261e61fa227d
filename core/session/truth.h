// SPDX-License-Identifier: Apache-2.0
// What is true of a session now: fresh logits, attention, drift, quantisation, lifespans, exactness, hash; and the
// fault drill that damages it. Nothing here is a step of the history but fault(). Engine thread.
#pragma once
#include "core/analysis/lifespans.h"
#include "core/session/session.h"

namespace kvlab {

/// Fresh logits and attention of the last row; the state's own unless an edit made them stale.
Status refreshLogits(Session& session);
/// Live rows against rebuilt ones; kept until the state changes.
Result<Drift> measureDrift(Session& session);
/// Error of each stored row against what was computed for it; kept until the state changes.
Result<Quantisation> measureQuantisation(Session& session);
/// How long keys are looked at when nothing is evicted; reads no live row.
Result<Lifespans> recordLifespans(Session& session, const LifespanRules& rules);
/// Lifespans that gates predicted beside those that a fresh pass finds; kept until the next time. At most `points` of
/// each head are kept to draw. Errors: no_gates, and those of recordLifespans.
Result<std::shared_ptr<const LifespanView>> measureLifespans(Session& session, std::size_t points);
/// Attention of the last row by query head in one cache layer: [heads][rows] of its residency map.
Result<std::vector<std::vector<float>>> attentionPerHead(Session& session, CacheLayer layer);
/// From now on every pass brings the newest row's attention in every layer. Else the last layer's comes, which
/// brightness lives on, and the others' where a policy looks at it or somebody asked for a tile of it lately.
void keepAttention(Session& session);
const ExactnessMap& exactnessMap(const Session& session);
std::string stateHash(const Session& session);
std::string textOf(const Session& session, LedgerId id);
/// Injects a corruption or arms a failure; refused unless the manifest opens the door. A corruption is a commit.
Result<nlohmann::json> fault(Session& session, const std::string& kind, const nlohmann::json& params);

}  // namespace kvlab
