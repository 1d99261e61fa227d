// SPDX-License-Identifier: Apache-2.0
// Shows the commits of the way to the present state. Kept states are shown as they are; if a state was dropped, or a
// question about a state needs a measurement, the session that answers for other ticks (past.h) executes the commands
// again, from anchor to anchor. The session stays where it is. A search for a condition goes back in the same way.
// Engine thread.
#pragma once
#include <functional>
#include <span>

#include "core/session/session.h"

namespace kvlab {

class LookBack {
 public:
  /// needs: the facts that must be known of each state beside the state itself. A need that is not named stays unknown.
  LookBack(Session& session, std::function<bool(Need)> needs)
      : m_session(session), m_line(session.timeline()), m_needs(std::move(needs)) {}

  /// Sees the state before a commit, the state behind it, and the report of its tick.
  using See = std::function<void(const Sight&, int entry)>;
  using Test = std::function<bool(const Sight&, int entry)>;

  /// Shows the commits behind the entry `first` up to `last`, oldest first. Errors: cancelled, and those of Past::at()
  /// and Session::travel().
  Status forward(int first, int last, const See& see);
  /// The last commit up to the entry `last` that passes the test; -1 = none. Errors: as forward().
  Result<int> lastOf(int last, const Test& test);
  /// The first commit behind the entry `first` up to `last` that passes the test; -1 = none. Errors: as forward().
  Result<int> firstOf(int first, int last, const Test& test);

 private:
  bool needsMeasurement() const;
  bool canSee(int id) const;
  Sight sightOf(int entry) const;
  int stretchBegin(int last) const;
  Status execute(int first, int last, const See& see);

  Session& m_session;
  const Timeline& m_line;
  std::function<bool(Need)> m_needs;
};

// Looks back through the history for a commit at which a condition held, as a debugger runs backwards to the last stop.
// Engine thread.

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
