// SPDX-License-Identifier: Apache-2.0
// Lanes behind the verbs of a session, so that whatever drives a session can drive them: what gives it tokens
// goes to all lanes, what only asks goes to lane 0. Engine thread of the lanes.
//
//   step, run, prompt, promptIds, prefill, endPrefill   all lanes, in lockstep
//   lanesReport {}                      a row per lane (core/api/lanes_view.h)
//   lanesNeedles {places}               tokens whose survival is reported
//   lane {lane, verb, args}             any verb on one lane alone
//   others                              lane 0; those that would take it out of step are refused: in_lockstep
#pragma once
#include "core/lanes/lanes.h"

namespace kvlab {

/// Lanes around a session out of {"lanes": [changes], "together": bool, "needles": [places]}. Errors: bad_argument and
/// those of Lanes::around; the session is still there then.
Result<std::unique_ptr<Lanes>> makeLanes(std::unique_ptr<Session>& reference, const nlohmann::json& request);
/// The session of a lane, {"lane": 0}; the lanes are over then. Errors: bad_argument, and they go on.
Result<std::unique_ptr<Session>> releaseLane(Lanes& lanes, const nlohmann::json& request);

/// step answers [{ok, error?, tick, token, text, ..., lanes: [{lane, stepped, error?, kl, ...}], weightBytes, together,
/// apart}], run {ticks, stoppedBy}, a prompt one such entry. Errors: in_lockstep, bad_argument, unknown_verb,
/// out_of_step and those of the session's verbs.
Result<nlohmann::json> execute(Lanes& lanes, const std::string& verb, const nlohmann::json& args);

}  // namespace kvlab
