// SPDX-License-Identifier: Apache-2.0
// Opens the parts of a session, with the kind that serves its manifest. Engine thread.
#pragma once
#include "core/kinds/base/session_parts.h"

namespace kvlab {

/// Errors: bad_manifest, no_backend, out_of_memory, and those of the files that the manifest names.
Result<SessionParts> openParts(const Manifest& manifest, const std::string& resources, const Progress& progress);
/// Parts that share model, weights and files with `origin`. They use the backend of `origin`, whatever "auto" would
/// choose now. opened: the manifest from which the new session's history starts.
Result<SessionParts> siblingParts(const SessionParts& origin, Manifest manifest, Manifest opened);

}  // namespace kvlab
