// SPDX-License-Identifier: Apache-2.0
// The rows of a session for files that know a row for each token and keys that are turned: those of Hugging Face forms,
// and those of other programs (core/foreign). Engine thread.
#pragma once
#include "core/foreign/outgoing.h"
#include "core/session/session.h"

namespace kvlab {

/// The session must live as long as the value, and stay as it is. `form` stands in errors. Errors: unsupported (a kind
/// whose rows stand for several tokens, residency by head), empty, ragged (a layer lacks rows in position mode cache).
Result<OutgoingRows> outgoingRows(Session& session, std::string_view form);

}  // namespace kvlab
