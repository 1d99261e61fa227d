// SPDX-License-Identifier: Apache-2.0
// A cache from a file becomes a session's content: rows go to free slots, or over the present ones where there is no
// room for both. Engine thread.
#pragma once
#include "core/files/cache_import.h"
#include "core/session/session.h"

namespace kvlab {

/// Replaces the session's content, as one commit. Rows that were live become deleted, unless the file brings a ledger
/// of its own; where it brings no logits, the next tick makes them. Pending actions are the file's, as they are: what
/// they refer to may have left, and then the tick that takes them says so. Errors: unsupported, staging.
Status importRows(Session& session, const CacheImport& rows);

}  // namespace kvlab
