// SPDX-License-Identifier: Apache-2.0
// The session as it was before a call or a tick. A call that ends with an exception has changed nothing: the session is
// restored from here. On the stack; engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

class CallMark {
 public:
  /// A tick changes nothing beside the content: breakpoints, watches and notes need no copies then.
  enum class Of : std::uint8_t { OneTick, Call };
  CallMark(Session& session, Of of);

  /// The exception being handled as an error, with the session as it was. Commits of the call are undone, and its
  /// entries of the history forgotten; an open tick is where it was. If something cannot be restored, the
  /// error says so. For catch blocks.
  Error takenBack(std::string_view what);

 private:
  struct Beside {
    Breakpoints breakpoints;
    Watches watches;
    Notes notes;
    Watching watching;
    FaultDoor faults;
  };
  Status goBack();
  bool closeTick();
  void putBackBeside();

  Session& m_session;
  Timeline::Place m_place;
  std::vector<Action> m_pending;
  Health m_health;
  History::LogEnds m_logs;
  std::optional<Beside> m_beside;
  std::shared_ptr<const StageView> m_stage;
  std::optional<Reopening> m_open;  // the tick that is open
};

}  // namespace kvlab
