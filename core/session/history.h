// SPDX-License-Identifier: Apache-2.0
// The present state of a session, its measurements, and the commands that led to it. A commit is the only way to a new
// state. An older state comes back from the timeline where the timeline kept it, else by executing commands again
// (travel.cpp). Owned by a session; engine thread.
#pragma once
#include <array>
#include <functional>
#include <optional>

#include "core/files/capture.h"
#include "core/parts/session_parts.h"
#include "core/session/measured.h"
#include "core/session/timeline.h"
#include "core/state/commit.h"

namespace kvlab {

class Session;

/// A recorded verb with its arguments, which replay and captures execute again.
struct PastCommand {
  std::string verb;
  nlohmann::json args;
  std::int64_t commits = 0;
  int last = -1;  // entry of the timeline that its last commit made
  /// [commits] decisions of added policies; null: there were none.
  std::vector<std::shared_ptr<const Decisions>> decided = {};
};

/// Copies the rows of the present state.
std::shared_ptr<const Anchor> takeAnchor(const SessionParts& parts, const CacheState& state);

class History {
 public:
  using KindOf = CommandKind (*)(const std::string& verb);
  using Execute = std::function<Result<nlohmann::json>(Session&, const std::string&, const nlohmann::json&)>;

  const CacheState& state() const { return m_state; }
  /// The state that the last commit was made from, whether the timeline keeps it or not; null = the present state came
  /// in another way.
  const CacheState* before() const { return m_before ? &*m_before : nullptr; }
  /// The same where the last check of that state found nothing and nothing but the commit has come since; else null.
  const CacheState* passed() const { return m_beforePassed ? before() : nullptr; }
  /// The last check of the present state found nothing, and nothing has come since.
  bool clean() const { return m_passed; }
  const Timeline& timeline() const { return m_timeline; }
  /// Const and yet changeable: queries store their measurements here.
  Measured& measured() const { return m_measured; }

  /// An empty timeline with an empty cache, to start with.
  struct Beginning {
    CacheState state;
    Timeline timeline;
  };
  Beginning beginning(CacheState state) const;
  /// Takes no memory.
  void start(Beginning beginning);
  /// Starts with the state of another session and the commands that led to it; older states are not copied. along: for
  /// a session on the same thread, with all commands of the branch, its anchors, and the states that lie in the pools.
  void startFrom(const History& other, CacheState state, bool along);
  /// For a session that was started along another one: from the present state, which must lie on the way to the entry
  /// `tip` of the other timeline, its commands lead to that entry. Older states are dropped.
  void turnTo(const History& other, int tip, SessionParts& parts);
  /// Gives the present state an anchor before a tick or another commit, if it is far from the last one and commands can
  /// be executed again from here.
  void anchor(const SessionParts& parts, bool tick);
  /// Sets the distance between anchors, in ticks and rows (Timeline::Entry::work), unless history_bytes is too small
  /// for them.
  void anchorEvery(std::int64_t work) { m_anchorWork = work; }
  /// Makes the commit's state current and records the command that made it. Only the first commit of a command carries
  /// the command; executing the command again makes its other commits too. Rows that the commit has overwritten come
  /// from the log of the store.
  void commit(Commit commit, SessionParts& parts);
  /// Replaces the present state by an equivalent one: fresh logits, rows in other slots, the record of an oracle. Adds
  /// no entry, so undo skips it. Measurements stay.
  void refine(CacheState state);
  /// Makes a kept state of the timeline current.
  void select(int entry) { select(entry, *m_timeline.entry(entry).state()); }
  /// The same with its rows in other slots, those of the present pools.
  void select(int entry, CacheState placed);
  /// True if an entry's state is kept, and all its rows lie in the present pools.
  bool lies(int entry) const;
  /// The present state and its pools, to stand on again. Only refine() may have come since.
  struct Stand {
    CacheState state, kept;
    int pools;
  };
  Stand stand() const { return {m_state, m_state, m_pools}; }
  /// Takes no memory.
  void standAgain(Stand stand);
  /// As Timeline::follow().
  void follow(int branch) { m_timeline.follow(branch); }
  /// Drops kept states, oldest first, until `slots` slots for a purpose are free in every layer. Returns false if
  /// dropping all is not enough.
  bool makeRoom(SessionParts& parts, std::int32_t slots, Placing placing = Placing::Scratch) {
    return m_timeline.makeRoom(parts.store, parts.layouts.inPlace() ? 0 : slots, placing, parts.manifest.historyBytes);
  }
  /// After a call that failed: brings back the rows that it has overwritten, and frees all slots that no kept state
  /// names. No tick may be open. False if the log lacks some rows; then nothing has changed.
  bool takeBack(SessionParts& parts) const;
  /// Copies the rows of older states to where pools may go and slots may be used again.
  void setApart(SessionParts& parts);
  /// The same before the session leaves the kept states for good. It copies only the newest of many: they are needed
  /// only if the session does not get where it goes.
  void leave(SessionParts& parts);
  /// Number of the present pools: slots of a state mean nothing in others.
  int pools() const { return m_pools; }
  void poolsChanged() { ++m_pools; }
  /// As Timeline::exchange().
  Result<std::int64_t> exchange(int entry, const std::function<Result<std::int64_t>(KeptRows&)>& swaps) {
    return m_timeline.exchange(entry, swaps);
  }
  /// Drops all older states. freeSlots: also frees the slots that only older states name, except where layouts move
  /// rows in place.
  void forgetOlder(SessionParts& parts, bool freeSlots) {
    m_timeline.dropAll(parts.store, freeSlots && !parts.layouts.inPlace());
  }
  /// Notes a check of the present state. clean: nothing is known to be wrong with it.
  void noteCheck(const CheckMade& made, bool clean) {
    m_timeline.noteCheck(made);
    m_passed = clean;
  }
  void setReport(std::shared_ptr<const TickReport> report) { m_timeline.setReport(std::move(report)); }

  // --- commands -----------------------------------------------------------------------------------
  /// Names the command that the next commits belong to.
  void beginCommand(std::string verb, nlohmann::json args);
  bool inCommand() const { return !m_verb.empty(); }
  nlohmann::json& args() { return m_args; }  // arguments of the command that is being executed
  /// Commands on the path from an entry of the timeline, or from the root, to a later one. A command that is not over
  /// at `from` is listed with its rest.
  std::vector<PastCommand> commands(int entry, int from = 0) const;
  /// Sets the function that executes recorded commands again.
  void setExecute(Execute execute) { m_execute = std::move(execute); }
  /// Sets the function that gives the kind of a command.
  void setKindOf(KindOf of) { m_kindOf = of; }
  KindOf kindOf() const { return m_kindOf; }
  const Execute& execute() const { return m_execute; }
  /// Executes a recorded command until it has made as many commits as were recorded. Errors: the command's own, and
  /// not_replayed if the command ends with fewer commits.
  Result<nlohmann::json> executeAgain(Session& session, const PastCommand& command);
  bool executingAgain() const { return m_commitsLeft >= 0; }  // a recorded command is being executed
  bool reached() const { return m_commitsLeft == 0; }         // the recorded command has made all its commits
  bool replaying() const { return m_replaying; }              // commands are being executed to reach an older state

  /// Restarts from the state of an entry with a timeline that begins there. Returns the present timeline, which
  /// endReplay() takes back.
  Timeline beginReplay(CacheState state, int entry);
  /// The same from the present state, with the kept states before it.
  Timeline beginReplay(CacheStore& store);
  /// Restores the timeline `kept`. Its entry `id` becomes current with the states that were reached or, if there is
  /// `back`, with that. True if all slots that are taken are those of kept states.
  bool endReplay(Timeline kept, int id, std::optional<CacheState> back);

  /// A file that every later command is appended to, with its first commit, and with how far it has come.
  struct Log {
    std::unique_ptr<CaptureLog> file;
    bool branches = false;  // has every branch of the timeline
  };
  /// The capture that somebody asked for.
  void setCapture(std::unique_ptr<CaptureLog> file) { m_logs[0] = {std::move(file), false}; }
  CaptureLog* capture() const { return m_logs[0].file.get(); }
  /// The one that a program keeps in case that it ends without a word.
  void setRecovery(Log log) { m_logs[1] = std::move(log); }
  const Log& recovery() const { return m_logs[1]; }
  bool logged() const { return m_logs[0].file || m_logs[1].file; }
  /// Adds the state hash to the last command of the logs, which has made its commits.
  void logHash(std::string hash) { log(CaptureProgress{m_timeline.current().tick, m_logged, std::move(hash)}); }
  /// The ends of the logs, and the part of the present command that was written; the logs can be cut back to there.
  using LogEnds = std::array<std::pair<const CaptureLog*, CaptureLog::End>, 2>;
  LogEnds logEnds() const {
    const auto endOf = [](const CaptureLog* file) { return std::pair(file, file ? file->end() : CaptureLog::End()); };
    return {endOf(m_logs[0].file.get()), endOf(m_logs[1].file.get())};
  }
  void cutLogs(const LogEnds& to) {
    for (std::size_t i = 0; i < to.size(); ++i)
      if (m_logs[i].file && m_logs[i].file.get() == to[i].first) m_logs[i].file->cutTo(to[i].second);
  }
  /// Forgets entries of the timeline, see Timeline::forgetFrom().
  void forgetFrom(const Timeline::Place& place, SessionParts& parts) {
    m_timeline.forgetFrom(place.entries, parts.store, place);
  }
  /// Appends a record to both files. A file keeps its error for those who ask.
  template <class Record>
  void log(const Record& record) {
    for (Log& one : m_logs)
      if (one.file) (void)one.file->append(record);
  }

 private:
  void become(CacheState state);
  using Records = std::array<std::string, 2>;  // records of both logs; empty = none
  Records recordsOf(const Timeline::Entry& entry) const;

  CacheState m_state;
  std::optional<CacheState> m_before;
  bool m_passed = false;        // the present state, by a check that found nothing
  bool m_beforePassed = false;  // the state before
  mutable Measured m_measured;
  Timeline m_timeline;
  std::int64_t m_anchorWork = 512;  // a copy of the rows costs little beside so much work
  int m_pools = 0;
  std::string m_verb;  // the command being executed
  CommandKind m_kind;  // kind of the command
  nlohmann::json m_args;
  bool m_replaying = false;
  std::int64_t m_commitsLeft = -1;  // commits that the recorded command may still make; -1 = any number
  Execute m_execute;
  KindOf m_kindOf = nullptr;
  std::array<Log, 2> m_logs;  // the capture that somebody asked for, and the recovery
  std::int64_t m_logged = 0;  // commits of the command, which the logs have
};

}  // namespace kvlab
