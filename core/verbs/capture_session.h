// SPDX-License-Identifier: Apache-2.0
// Writes captures of a session, whole or as they grow, and replays them. Engine thread.
#pragma once
#include <optional>

#include "core/files/capture.h"
#include "core/session/session.h"

namespace kvlab {

/// Writes the commands that lead to the present state, the notes, breakpoints and watches. The file is written whole or
/// not at all. Returns {path, commands, bytes}. State hashes are recorded for commands whose state is kept: for each if
/// the rows are below 64 MiB, else for every 16th and the last.
Result<nlohmann::json> saveCapture(const Session& session, const std::string& path);
/// Like saveCapture(), and then appends every later command when it ends, including undo and goto.
Result<nlohmann::json> startCapture(Session& session, const std::string& path);
/// Returns {path}, or null if no capture was running.
Result<nlohmann::json> stopCapture(Session& session);
/// The same as startCapture() for the file that a program keeps in case that it ends without a word.
Status startRecovery(Session& session, const std::string& path);

struct ReplayOptions {
  std::optional<Tick> to;  // skip commands after this tick
  bool verify = false;     // compare state hashes
};

struct ReplayStep {
  Tick tick;  // after the command
  std::string verb;
  bool ok = true;
  std::string expected, got;  // state hashes; empty = not recorded, or not requested
  std::optional<Error> error = {};
};
/// Returns {tick, verb, ok, expected, got, error?}.
nlohmann::json toJson(const ReplayStep& step);

struct Replay {
  std::unique_ptr<Session> session;
  std::vector<ReplayStep> steps;
  std::string note;  // dropped parts of the file; empty = none
  /// True if every command succeeded and every compared hash is equal.
  bool ok() const;
};

/// Opens the capture's manifest and executes its commands; stops at the first failure. Errors: those of openCapture and
/// of opening a session, other_model, other_numerics (this machine computes with another numerics id, so hashes cannot
/// be equal), out_of_range (no such tick), bad_capture (a record is no command of a session), cancelled.
Result<Replay> replayCapture(const std::string& path, const std::string& resources, const ReplayOptions& options = {},
                             const Progress& progress = {});
/// The same for a capture that was read from `path`.
Result<Replay> replayCapture(const Capture& capture, const std::string& path, const std::string& resources,
                             const ReplayOptions& options = {}, const Progress& progress = {});

// The effects of each verb as records of growing captures. The history itself appends every commit
// (History::logCommit); these records follow when the verb has ended.

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

/// Changes of notes, breakpoints, watches and pending actions since the mark.
CaptureAside asideSince(const Session& session, const CaptureMark& mark);

}  // namespace kvlab
