// SPDX-License-Identifier: Apache-2.0
// Replaces a session's content by rows from a cache file. The rows go to free slots. If too few slots are free, the
// rows overwrite the present ones. Engine thread.
#pragma once
#include "core/files/cache_import.h"
#include "core/session/session.h"

namespace kvlab {

/// Replaces the session's content in one commit. Live rows become deleted in the ledger, unless the file brings its own
/// ledger. If the file has no logits, the next tick computes them. Pending actions are taken from the file unchecked:
/// the tick that applies them reports references that no longer exist. verify: each row is compared with what the model
/// computes, which costs a pass over all of them. Errors: unsupported, staging, other_rows.
Status importRows(Session& session, const CacheImport& rows, bool verify);

}  // namespace kvlab
