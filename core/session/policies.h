// SPDX-License-Identifier: Apache-2.0
// Facts that eviction policies of an open session use or have found. Engine thread. semantics.md, section 6.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// Sets the future attention mass that the oracle policy uses where its spec names no record. It serves from the next
/// tick on; no commit is made.
void setFuture(Session& session, std::shared_ptr<const FutureMass> future);
/// Scores that the policy of a cache layer last gave its rows, [rows]; NaN for rows it did not score.
std::vector<float> scoresOf(const CacheState& state, CacheLayer layer);

}  // namespace kvlab
