// SPDX-License-Identifier: Apache-2.0
// The verbs of a session for lanes and for a batch, so that the same callers can drive both. The table (InLanes of
// core/api/verb.h) says how lanes treat a verb: all lanes run verbs that append tokens, lane 0 answers queries, and
// verbs that would bring lane 0 out of step are refused. Engine thread of the lanes or of the batch.
#pragma once
#include "core/lanes/batch.h"
#include "core/lanes/lanes.h"
#include "core/verbs/verb_args.h"

namespace kvlab {

/// A list of places among the tokens that all lanes took.
std::vector<std::int32_t> placesOf(const VerbArgs& in, const char* field);

/// step returns [{ok, error?, tick, token, text, ..., lanes: [{lane, stepped, error?, kl, ...}], weightBytes, together,
/// apart}]; run returns {ticks, stoppedBy}; a prompt returns one such entry. Errors: in_lockstep, bad_argument,
/// unknown_verb, out_of_step and those of the session's verbs.
Result<nlohmann::json> execute(Lanes& lanes, const std::string& verb, const nlohmann::json& args);

/// Verbs that a batch does not have go to the sequence that views show. Errors: bad_argument, unknown_verb and those of
/// the session's verbs.
Result<nlohmann::json> execute(Batch& batch, const std::string& verb, const nlohmann::json& args);

}  // namespace kvlab
