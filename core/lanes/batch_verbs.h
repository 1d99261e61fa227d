// SPDX-License-Identifier: Apache-2.0
// The verbs of a batch. Every other verb goes to the sequence that views show. Engine thread of the batch.
#pragma once
#include "core/lanes/batch.h"

namespace kvlab {

/// Makes a batch of a session, for the verb batchOpen. Errors: bad_argument and those of Batch::around; on error
/// `origin` keeps the session.
Result<std::unique_ptr<Batch>> makeBatch(std::unique_ptr<Session>& origin, const nlohmann::json& request);
/// Keeps the session of a sequence and ends the batch, for the verb batchClose. Errors: bad_argument; the batch goes
/// on.
Result<std::unique_ptr<Session>> keepSequence(Batch& batch, const nlohmann::json& request);

/// Errors: bad_argument, unknown_verb and those of the session's verbs.
Result<nlohmann::json> execute(Batch& batch, const std::string& verb, const nlohmann::json& args);

}  // namespace kvlab
