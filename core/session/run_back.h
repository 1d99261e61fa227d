// SPDX-License-Identifier: Apache-2.0
// Looks back through the history for a commit at which a condition held, as a debugger runs backwards to the last stop.
// Engine thread.
#pragma once
#include <span>

#include "core/session/session.h"

namespace kvlab {

struct Held {
  int entry = -1;                  // entry of the timeline; -1 = at no commit
  const Expression* by = nullptr;  // the first of the conditions that held there
};

/// The last commit before the present state at which one of the conditions held. They are asked of the state before a
/// commit, the state behind it, and the report of its tick. The session stays where it is. Errors: bad_condition (it
/// asks for a stage of a tick), and those of LookBack.
Result<Held> lastHeld(Session& session, std::span<const Expression> conditions);
/// Goes to the commit that lastHeld() finds; without one the session stays. Errors: tick_open, and those of lastHeld()
/// and Session::travel(); the session stays then.
Result<Held> runBack(Session& session, std::span<const Expression> conditions);

}  // namespace kvlab
