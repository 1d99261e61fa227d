// SPDX-License-Identifier: Apache-2.0
// Opens the parts of a session, with the kind that serves its manifest. Engine thread.
#pragma once
#include "core/kinds/base/session_parts.h"

namespace kvlab {

/// Errors: bad_manifest, no_backend, out_of_memory, and those of the files that the manifest names.
Result<SessionParts> openParts(const Manifest& manifest, const std::string& resources, const Progress& progress);
/// Parts that share model, weights and files with `origin`. They use the kind of backend of `origin`, whatever "auto"
/// would choose now.
Result<SessionParts> siblingParts(const SessionParts& origin, const Manifest& manifest);
/// Parts of a session with the manifest and the storage of `origin`, with the rows of its state. beside: the new
/// session computes on this one's threads, and the two are called one at a time; or null.
Result<SessionParts> forkedParts(const SessionParts& origin, const CacheState& state, const SessionParts* beside);

}  // namespace kvlab
