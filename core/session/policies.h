// SPDX-License-Identifier: Apache-2.0
// Changes eviction policies of an open session. Engine thread. semantics.md, section 6.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// Replaces the policy of a layer of the model (-1 = all layers) from the next tick on. Makes a commit. Errors:
/// bad_manifest, unsupported, and those of the files that the spec names.
Status setPolicy(Session& session, int layer, const PolicySpec& spec);
/// Sets the future attention mass that the oracle policy uses where its spec names no record. It serves from the next
/// tick on; no commit is made.
void setFuture(Session& session, std::shared_ptr<const FutureMass> future);
/// Scores that the policy of a cache layer last gave its rows, [rows]; NaN for rows it did not score.
std::vector<float> scoresOf(const Session& session, int layer);

}  // namespace kvlab
