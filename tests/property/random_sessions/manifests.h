// SPDX-License-Identifier: Apache-2.0
// Draws manifests over every key, in combinations that a session opens with as a rule. Any thread.
#pragma once
#include "property/random_sessions/draw.h"
#include "property/random_sessions/sequence.h"

namespace kvlab::random_sessions {

json drawManifest(Draw& draw);
/// A policy as manifests and setPolicy take it.
json drawPolicy(Draw& draw);
std::string drawLayout(Draw& draw);
std::string drawRowType(Draw& draw);

/// Keys of a manifest that drawManifest() never gives.
std::vector<std::string> undrawnKeys();

}  // namespace kvlab::random_sessions
