// SPDX-License-Identifier: Apache-2.0
// Lanes behind the verbs of a session, so that whatever drives a session can drive them. The table (InLanes of
// core/api/verb.h) says what lanes do with a verb: what gives a session tokens goes to all lanes, what only asks goes
// to lane 0, what would take lane 0 out of step is refused. Engine thread of the lanes.
#pragma once
#include "core/lanes/lanes.h"

namespace kvlab {

/// Lanes around a session: what the verb lanesOpen does with its arguments. Errors: bad_argument and those of
/// Lanes::around; the session is still there then.
Result<std::unique_ptr<Lanes>> makeLanes(std::unique_ptr<Session>& reference, const nlohmann::json& request);
/// The session of a lane: what lanesClose does; the lanes are over then. Errors: bad_argument, and they go on.
Result<std::unique_ptr<Session>> releaseLane(Lanes& lanes, const nlohmann::json& request);

/// step answers [{ok, error?, tick, token, text, ..., lanes: [{lane, stepped, error?, kl, ...}], weightBytes, together,
/// apart}], run {ticks, stoppedBy}, a prompt one such entry. Errors: in_lockstep, bad_argument, unknown_verb,
/// out_of_step and those of the session's verbs.
Result<nlohmann::json> execute(Lanes& lanes, const std::string& verb, const nlohmann::json& args);

}  // namespace kvlab
