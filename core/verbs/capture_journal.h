// SPDX-License-Identifier: Apache-2.0
// Writes the effects of each verb to the growing captures of a session. The history itself appends every commit
// (History::logCommit); this file adds the records that follow when the verb has ended. Engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// The session's place in its history before a verb, with the data beside its content.
struct CaptureMark {
  bool live = false;
  int entries = 0, current = 0, starts = 0;
  std::string branch = {};
  NoteList notes = {};
  std::shared_ptr<const std::vector<BreakpointView>> breakpoints = {};
  std::vector<WatchView> watches = {};  // without values
  std::vector<Action> pending = {};
};
CaptureMark markCapture(Session& session);
/// Appends the verb's destination, the state hash, and the verb's changes of notes, breakpoints, watches and pending
/// actions. A journey is written as undo, redo or goto, because the result of a search may depend on reports,
/// breakpoints and notes that no capture has. A failed write is logged and ends its file; the verb's changes stay.
void appendCapture(Session& session, const CaptureMark& mark, const std::string& verb, const nlohmann::json& args,
                   bool done);

/// True for a verb that changes no content, but changes the results of later passes: growing captures record it.
bool bendsPasses(std::string_view verb);

/// The state hash without pending actions.
std::string captureHash(const CacheState& state, const CacheStore& store);
/// True for a record whose hash costs little beside its command.
bool hashIsDue(std::uint64_t record, const CacheState& state, const CacheStore& store);

}  // namespace kvlab
