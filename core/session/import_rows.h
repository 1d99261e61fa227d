// SPDX-License-Identifier: Apache-2.0
// Replaces a session's content by rows from a cache file. The rows go to free slots. If too few slots are free, the
// rows overwrite the present ones. Engine thread.
#pragma once
#include "core/files/cache_import.h"
#include "core/session/session.h"

namespace kvlab {

/// Replaces the session's content in one commit. Live rows become deleted in the ledger, unless the file brings its own
/// ledger. If the file has no logits, the next tick computes them. Pending actions are taken from the file unchecked:
/// the tick that applies them reports references that no longer exist. Errors: unsupported, staging.
Status importRows(Session& session, const CacheImport& rows);

}  // namespace kvlab
