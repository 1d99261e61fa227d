// SPDX-License-Identifier: Apache-2.0
// The settings of a living session: the keys of its manifest, and other values of those that it takes (livingKeys() of
// api/manifest.h). Storage, policies and rules change together in one commit. A state keeps its policies and names the
// rules that it was made under; history brings these back, and the pools. Engine thread. semantics.md, sections 6
// and 9.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// The manifest in force: the manifest that opened the session, with all later changes.
Manifest settingsOf(const SessionParts& parts, const CacheState& state);

/// Other values of these keys, in force from the next tick on: a commit, unless op_events is the only key. `change` has
/// the form of a manifest, as in Manifest::with(). A call that names layout, kv or capacity makes the pools anew, for
/// as many rows per layer as capacity says, and keeps the content; memory of evicted rows returns to the system.
/// Errors: bad_manifest (a value, or a key that no living session takes), unsupported, capacity (a layer holds more
/// rows, or the rotary table is too short), no_phase_room, out_of_memory, and those of the files that a policy names.
/// Nothing has changed then.
Status changeSettings(Session& session, const nlohmann::json& change);

/// Manifest and sampler follow the rules of a state that was restored; the storage stays.
void followRules(SessionParts& parts, const CacheState& state);
/// Gives a manifest the storage of another one.
void copyStorage(const Manifest& from, Manifest& to);
/// Manifest, sampler and rotary table as `wanted` says. The storage stays, and the policies are those of the states.
/// Errors: out_of_memory; nothing has changed then.
Status takeManifest(SessionParts& parts, const Manifest& wanted);

}  // namespace kvlab
