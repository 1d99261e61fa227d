// SPDX-License-Identifier: Apache-2.0
// Changes eviction policies of an open session. Engine thread. semantics.md, section 6.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// Another policy for one layer or all, in force from the next tick on: a commit. Errors: bad_manifest,
/// unsupported, and those of the files that it names.
Status setPolicy(Session& session, std::optional<Layer> layer, const PolicySpec& spec);
/// Sets the future attention mass that the oracle policy uses where its spec names no record. It serves from the next
/// tick on; no commit is made.
void setFuture(Session& session, std::shared_ptr<const FutureMass> future);
/// Scores that the policy of a cache layer last gave its rows, [rows]; NaN for rows it did not score.
std::vector<float> scoresOf(const CacheState& state, CacheLayer layer);

}  // namespace kvlab
