// SPDX-License-Identifier: Apache-2.0
// Holds a session, or lanes or a batch in its place. Runs every verb of the table, including those that open and close
// lanes and batches.
// Owned by the window's engine or by a program without a window, on one thread, which alone calls it.
#pragma once
#include "core/api/tile.h"
#include "core/api/verb.h"
#include "core/lanes/batch.h"
#include "core/lanes/lanes.h"

namespace kvlab {

class VerbArgs;

/// The session of a holder that a question is about, and the tick.
struct Whereabouts {
  std::optional<int> member = {};  // lane or sequence; must be given where there are several
  std::optional<Tick> tick = {};   // the session as it was behind it; none = as it is
  std::string branch = {};         // of the tick; empty = the one that goes on here
};

class SessionHolder {
 public:
  explicit SessionHolder(std::unique_ptr<Session> session) : m_session(std::move(session)) {}
  explicit SessionHolder(std::unique_ptr<Lanes> lanes) : m_lanes(std::move(lanes)) {}
  explicit SessionHolder(std::unique_ptr<Batch> batch) : m_batch(std::move(batch)) {}

  /// Errors: those of core/verbs/verbs.h and core/lanes/lane_verbs.h; in_lockstep if lanes or a batch are already open.
  Result<nlohmann::json> execute(const std::string& verb, const nlohmann::json& args);
  /// A tile of the session, of lane 0, or of the sequence that views show.
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request);
  SnapshotPtr snapshot() const;
  /// Null while there are lanes or a batch.
  Session* session() const { return m_session.get(); }
  /// To be read and measured. Errors: in_lockstep (several, and none is named), no_lanes (one, and a member is named),
  /// bad_argument (no such member), and those of sessionAt().
  Result<Session*> sessionOf(const Whereabouts& where);
  /// The snapshot that the session would have published after an earlier tick of the branch, with the values of today's
  /// watches. The session stays where it is. Errors: in_lockstep, and those of sessionAt().
  Result<SnapshotPtr> snapshotAt(Tick tick);
  void setPublish(std::function<void(SnapshotPtr)> publish);
  void setProgress(Progress progress);
  void setBetweenTicks(std::function<void()> between);
  /// A copy in the present state, to be used by any one thread. Errors: those of Session::fork.
  Result<std::unique_ptr<SessionHolder>> fork();

 private:
  template <class F>
  auto visit(F&& call) const;
  Result<nlohmann::json> executed(const std::string& verb, const nlohmann::json& args);
  Status exchangeable(InLanes kind) const;
  Result<nlohmann::json> exchange(InLanes kind, VerbArgs& in);
  void connect();

  // One of the three:
  std::unique_ptr<Session> m_session;
  std::unique_ptr<Lanes> m_lanes;
  std::unique_ptr<Batch> m_batch;
  std::function<void(SnapshotPtr)> m_publish;
  Progress m_progress;
  std::function<void()> m_betweenTicks;
};

}  // namespace kvlab
