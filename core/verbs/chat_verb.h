// SPDX-License-Identifier: Apache-2.0
// The verb chat: messages through the model's chat template into the context. Engine thread.
#pragma once
#include "core/session/session.h"
#include "core/verbs/verb_args.h"

namespace kvlab {

/// Appends the part of the conversation that the context does not hold yet. Errors: bad_template, bad_messages,
/// chat_differs (the context does not begin the conversation), empty_tokens, and those of an append.
Result<nlohmann::json> chatVerb(Session& session, VerbArgs& in);

}  // namespace kvlab
