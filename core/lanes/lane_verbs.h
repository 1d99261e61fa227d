// SPDX-License-Identifier: Apache-2.0
// The verbs of a session for lanes and for a batch, so that the same callers can drive both. The table (InLanes of
// core/api/verb.h) says how lanes treat a verb: all lanes run verbs that append tokens, lane 0 answers queries, and
// verbs that would bring lane 0 out of step are refused. Engine thread of the lanes or of the batch.
#pragma once
#include "core/lanes/batch.h"
#include "core/lanes/lanes.h"

namespace kvlab {

/// Opens lanes around a session, for the verb lanesOpen. Errors: bad_argument and those of Lanes::around; on error
/// `reference` keeps the session.
Result<std::unique_ptr<Lanes>> makeLanes(std::unique_ptr<Session>& reference, const nlohmann::json& request);
/// Releases the session of a lane and ends the lanes, for the verb lanesClose. Errors: bad_argument; the lanes go on.
Result<std::unique_ptr<Session>> releaseLane(Lanes& lanes, const nlohmann::json& request);

/// step returns [{ok, error?, tick, token, text, ..., lanes: [{lane, stepped, error?, kl, ...}], weightBytes, together,
/// apart}]; run returns {ticks, stoppedBy}; a prompt returns one such entry. Errors: in_lockstep, bad_argument,
/// unknown_verb, out_of_step and those of the session's verbs.
Result<nlohmann::json> execute(Lanes& lanes, const std::string& verb, const nlohmann::json& args);

// The verbs of a batch. Every other verb goes to the sequence that views show. Engine thread of the batch.

/// Makes a batch of a session, for the verb batchOpen. Errors: bad_argument and those of Batch::around; on error
/// `origin` keeps the session.
Result<std::unique_ptr<Batch>> makeBatch(std::unique_ptr<Session>& origin, const nlohmann::json& request);
/// Keeps the session of a sequence and ends the batch, for the verb batchClose. Errors: bad_argument; the batch goes
/// on.
Result<std::unique_ptr<Session>> keepSequence(Batch& batch, const nlohmann::json& request);

/// Errors: bad_argument, unknown_verb and those of the session's verbs.
Result<nlohmann::json> execute(Batch& batch, const std::string& verb, const nlohmann::json& args);

}  // namespace kvlab
