// SPDX-License-Identifier: Apache-2.0
// Looks back through the history for the last commit at which a condition held, as a debugger runs backwards to the
// last stop. Engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// Entry of the last commit before the present state at which a condition held; -1 = at none. It is asked of the state
/// before a commit, the state behind it, and the report of its tick. The session stays where it is. Kept states are
/// asked directly; where a state was dropped, or the condition needs a measurement, the session that answers for other
/// ticks (past.h) executes the commands again, from anchor to anchor. Errors: bad_condition (it asks for a stage of a
/// tick), cancelled, and those of Past::at() and Session::travel().
Result<int> lastHeld(Session& session, const Expression& condition);
/// Goes to the entry that lastHeld() finds; with -1 the session stays. Errors: tick_open, and those of lastHeld() and
/// Session::travel(); the session stays then.
Result<int> runBack(Session& session, const Expression& condition);

}  // namespace kvlab
