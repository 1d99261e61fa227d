// SPDX-License-Identifier: Apache-2.0
// The present state of a session, what was measured of it, and how it came about. A commit is the only way to another
// state; the way back goes by kept states or by executing commands again (travel.cpp). Owned by a session; engine
// thread.
#pragma once
#include <functional>

#include "core/files/capture.h"
#include "core/kinds/base/session_parts.h"
#include "core/session/measured.h"
#include "core/session/timeline.h"
#include "core/state/commit.h"

namespace kvlab {

class Session;

/// A recorded verb, as history and captures execute it again.
struct PastCommand {
  std::string verb;
  nlohmann::json args;
  std::int64_t commits = 0;
  int last = -1;  // entry of the timeline that its last commit made
};

class History {
 public:
  using Execute = std::function<Result<nlohmann::json>(Session&, const std::string&, const nlohmann::json&)>;

  const CacheState& state() const { return m_state; }
  const Timeline& timeline() const { return m_timeline; }
  /// Looking adds to it.
  Measured& measured() const { return m_measured; }

  /// An empty cache, which nothing led to.
  void start(CacheState state);
  /// The state of another session, with the commands that led to it and no older state.
  void startFrom(const History& other, CacheState state);
  /// Makes the commit's state current and notes the command that it belongs to. Only the first commit of a command
  /// carries the command; executing it again makes the others too. Where a layout rewrites rows in place, no older
  /// state stays.
  void commit(Commit commit, SessionParts& parts);
  /// The present state said otherwise: fresh logits, rows in other slots, what an oracle knows. No step, nothing to
  /// undo, and what was measured stays true.
  void refine(CacheState state);
  /// A kept state of the timeline becomes current.
  void select(int entry);
  /// Drops kept states, oldest first, until so many slots are free in every layer; false if they cannot be.
  bool makeRoom(SessionParts& parts, std::int32_t slots) {
    return m_timeline.makeRoom(parts.store, slots, parts.manifest.historyBytes);
  }
  /// Older states are forgotten. freeSlots: what only they named is free again, unless layouts move rows in place.
  void forgetOlder(SessionParts& parts, bool freeSlots) {
    m_timeline.dropAll(parts.store, freeSlots && !parts.layouts.inPlace());
  }
  void setReport(std::shared_ptr<const TickReport> report) { m_timeline.setReport(std::move(report)); }

  // --- commands -----------------------------------------------------------------------------------
  /// Names the command that the next commits belong to.
  void beginCommand(std::string verb, nlohmann::json args);
  bool inCommand() const { return !m_verb.empty(); }
  nlohmann::json& args() { return m_args; }  // of the command that is being executed
  /// The commands on the way from the start to an entry of the timeline.
  std::vector<PastCommand> commands(int entry) const;
  /// Verbs register themselves here, so that commands can be executed again.
  void setExecute(Execute execute) { m_execute = std::move(execute); }
  const Execute& execute() const { return m_execute; }
  /// Executes a recorded command up to the commits that it made then. Errors: the command's own, and not_replayed
  /// where it makes fewer.
  Result<nlohmann::json> executeAgain(Session& session, const PastCommand& command);
  bool executingAgain() const { return m_commitsLeft >= 0; }  // a recorded command
  bool reached() const { return m_commitsLeft == 0; }         // such a command has made all its commits
  bool replaying() const { return m_replaying; }              // commands lead to an older state

  /// Starts over from `empty`; what is returned and the present timeline come back with endReplay().
  Timeline beginReplay(CacheState empty);
  /// Entry `id` of `kept` becomes current, with the state that was reached or `back`.
  void endReplay(Timeline kept, int id, std::optional<CacheState> back);

  /// A file that every command is appended to; null = none.
  void setCapture(std::unique_ptr<CaptureLog> log) { m_capture = std::move(log); }
  CaptureLog* capture() const { return m_capture.get(); }

 private:
  void become(CacheState state);

  CacheState m_state;
  mutable Measured m_measured;
  Timeline m_timeline;
  std::string m_verb;  // the command being executed
  nlohmann::json m_args;
  bool m_replaying = false;
  std::int64_t m_commitsLeft = -1;  // that the command may still make; -1 = any number
  Execute m_execute;
  std::unique_ptr<CaptureLog> m_capture;
};

}  // namespace kvlab
