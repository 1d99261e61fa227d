// SPDX-License-Identifier: Apache-2.0
// The history of a session as columns, for pictures of it: entries with their ticks, edits in words, branches, and
// which states are kept. Reads; engine thread.
#pragma once
#include "core/session/session.h"
#include "core/verbs/verb_args.h"

namespace kvlab {

/// Entries from `since` on; parts that may change later, as the kept states and the tips of branches, are always whole.
Result<nlohmann::json> timelineVerb(const Session& session, VerbArgs& in);

/// Rows that left layers in the entry's tick, by an action or through a window.
std::int32_t rowsGone(const Timeline::Entry& entry);

}  // namespace kvlab
