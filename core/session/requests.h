// SPDX-License-Identifier: Apache-2.0
// What people ask of a session between two ticks: actions that wait, marks on tokens, steps of the history. Engine
// thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// Checks the pending list with these behind it and queues them; nothing is queued on error.
Status inject(Session& session, const std::vector<Action>& actions);
void clearPending(Session& session);
/// What the actions would do on top of the pending ones. An error counts its action in the given list.
Result<EditPlan> plan(const Session& session, const std::vector<Action>& actions);

/// Commits. Errors: out_of_range.
Status setBrightness(Session& session, LedgerId id, double value);
Status pin(Session& session, LedgerId id, bool on);
/// Turns op events on or off, as the manifest's op_events does at the start.
void setOpEvents(Session& session, bool on);

/// Errors: nothing_to_undo, nothing_to_redo, out_of_range, and where commands are executed again, theirs.
Status undo(Session& session);
Status redo(Session& session);
Status goTo(Session& session, Tick tick);

}  // namespace kvlab
