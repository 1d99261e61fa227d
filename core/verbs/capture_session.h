// SPDX-License-Identifier: Apache-2.0
// Captures of a session, written and done again. Engine thread.
#pragma once
#include <optional>

#include "core/files/capture.h"
#include "core/session/session.h"

namespace kvlab {

/// Writes the commands of the current branch up to the present state, whole or not at all; {path,
/// commands, bytes}. Hashes: every command whose state is still kept, where the rows are below 64
/// MiB; else every 16th and the last.
Result<nlohmann::json> saveCapture(const Session& session, const std::string& path);
/// The same, and every later command is appended as it ends, undo and goto included.
Result<nlohmann::json> startCapture(Session& session, const std::string& path);
/// {path}, null where none was running.
Result<nlohmann::json> stopCapture(Session& session);

/// Where a session stood before a verb, so that what it did can be appended.
struct CaptureMark {
  int entries = 0, current = 0;
  bool live = false;
};
CaptureMark markCapture(Session& session);
/// Appends the verb if it changed the session and a capture is running. A write that fails is
/// logged and ends the capture; what the verb did stands.
void appendCapture(Session& session, const CaptureMark& mark, const std::string& verb, const nlohmann::json& args);

struct ReplayOptions {
  std::optional<Tick> to;  // stop here; later commands are not done
  bool verify = false;     // compare state hashes
};

struct ReplayStep {
  Tick tick;  // after the command
  std::string verb;
  bool ok = true;
  std::string expected, got;  // state hashes; empty = not recorded, not asked for
  std::optional<Error> error = {};
};
/// {tick, verb, ok, expected, got, error?}
nlohmann::json toJson(const ReplayStep& step);

struct Replay {
  std::unique_ptr<Session> session;
  std::vector<ReplayStep> steps;
  std::string note;  // what of the file was dropped; empty = nothing
  /// True if every command was done and every hash that was compared is equal.
  bool ok() const;
};

/// Opens the capture's manifest and does its commands again; ends with the first that fails.
/// Errors: those of openCapture and of opening a session, other_model, other_numerics (the
/// arithmetic of the capture is not this machine's, so hashes cannot agree), out_of_range (no such
/// tick), bad_capture (a record that is no command of a session), cancelled.
Result<Replay> replayCapture(const std::string& path, const std::string& resources, const ReplayOptions& options = {},
                             const Progress& progress = {});

}  // namespace kvlab
