// SPDX-License-Identifier: Apache-2.0
// Requests between two ticks: pending actions, brightness of tokens, steps through the history. Engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// The place of new actions: behind the pending ones, or instead of them.
enum class Queue : std::uint8_t { Behind, Instead };
/// Changes the pending list after checking the whole list. On error the list stays.
Status inject(Session& session, const std::vector<Action>& actions, Queue queue = Queue::Behind);
void clearPending(Session& session);
/// Plans the pending list as inject() would make it. An error names its action by the index in `actions`.
Result<EditPlan> plan(const Session& session, const std::vector<Action>& actions, Queue queue = Queue::Behind);

/// Error speculating, which begins with `what`, where rows before an open draft have to stay where they are.
Status noDraft(const Session& session, const char* what);
/// Makes a commit. Errors: out_of_range.
Status setBrightness(Session& session, LedgerId id, double value);
Status pin(Session& session, LedgerId id, bool on);

/// Unit of one step through the history.
enum class HistoryStep : std::uint8_t { Commit, Edit };
/// Errors: nothing_to_undo, nothing_to_redo, out_of_range, and those of commands that are executed again. If there are
/// fewer than n steps, nothing is done.
Status undo(Session& session, std::int64_t n = 1, HistoryStep by = HistoryStep::Commit);
Status redo(Session& session, std::int64_t n = 1, HistoryStep by = HistoryStep::Commit);
Status goTo(Session& session, Tick tick);
/// Number of a branch in the timeline. Error: unknown_branch.
Result<int> branchNamed(const Session& session, const std::string& branch);
/// The last entry with a tick on a branch, or else on the present one. Errors: unknown_branch, out_of_range.
Result<int> entryAt(const Session& session, Tick tick, const std::string& branch = {});
/// Goes to a tick of a branch, which becomes the current one. Errors besides: those of entryAt(), and capturing while a
/// capture runs, which has one branch only.
Status goTo(Session& session, Tick tick, const std::string& branch);
/// The session in the state of another tick, to be read and measured: the session itself where it stands there, else
/// one that it keeps for this (past.h). Errors: those of entryAt() and Past::at().
Result<Session*> sessionAt(Session& session, Tick tick, const std::string& branch = {});

}  // namespace kvlab
