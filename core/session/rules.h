// SPDX-License-Identifier: Apache-2.0
// The keys of a manifest that a living session takes: after_edit, executor, sampling, ring.block_tokens, position,
// check and brightness without its max. A state names the rules that it was made under, so undo brings them back.
// Engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// Other values of these keys, in force from the next tick on: a commit. `rules` has the form of a manifest; keys that
/// it leaves out stay. Errors: bad_manifest (a value, or a key that no living session takes), no_phase_room, capacity,
/// out_of_memory; nothing has changed then.
Status setRules(Session& session, const nlohmann::json& rules);

/// Manifest and sampler follow the rules of a state that was restored; no storage depends on them.
void followRules(SessionParts& parts, const CacheState& state);
/// Manifest, sampler and rotary table as `wanted` says. The storage stays. Errors: out_of_memory; nothing has changed
/// then.
Status takeManifest(SessionParts& parts, const Manifest& wanted);

}  // namespace kvlab
