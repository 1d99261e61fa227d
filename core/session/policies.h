// SPDX-License-Identifier: Apache-2.0
// Eviction policies of a living session. Engine thread. semantics.md, section 6.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// Another policy for one layer or all, in force from the next tick on: a commit. Errors: bad_manifest,
/// unsupported, and those of the files that it names.
Status setPolicy(Session& session, std::optional<Layer> layer, const PolicySpec& spec);
/// What the oracle policy knows where it names no record: from the next tick on; no commit.
void setFuture(Session& session, std::shared_ptr<const FutureMass> future);
/// What the policy of a cache layer last thought of its rows, [rows]; not-a-number where it did not ask.
std::vector<float> scoresOf(const Session& session, CacheLayer layer);

}  // namespace kvlab
