// SPDX-License-Identifier: Apache-2.0
// Opens the parts of a session with the kind that its manifest asks for. Engine thread.
#pragma once
#include "core/kinds/base/session_parts.h"

namespace kvlab {

/// Errors: bad_manifest, no_backend, out_of_memory, and those of the files that the manifest names.
Result<SessionParts> openParts(const Manifest& manifest, const std::string& resources, const Progress& progress);
/// Parts over the same model, weights and files as `origin`, which compute where it does whatever "auto" would choose
/// by now. opened: what the history of the new session starts from.
Result<SessionParts> siblingParts(const SessionParts& origin, Manifest manifest, Manifest opened);

}  // namespace kvlab
