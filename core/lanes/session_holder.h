// SPDX-License-Identifier: Apache-2.0
// A session, or lanes in its place: runs every verb of the table, those that open and close lanes included. Owned by
// what drives a session (the window's engine, a program without a window), on one thread, which alone calls it.
#pragma once
#include "core/lanes/lanes.h"

namespace kvlab {

class SessionHolder {
 public:
  explicit SessionHolder(std::unique_ptr<Session> session) : m_session(std::move(session)) {}
  explicit SessionHolder(std::unique_ptr<Lanes> lanes) : m_lanes(std::move(lanes)) {}

  /// Errors: those of core/verbs/verbs.h and core/lanes/lane_verbs.h; in_lockstep where there are lanes already.
  Result<nlohmann::json> execute(const std::string& verb, const nlohmann::json& args);
  /// Of the session, or of lane 0.
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request);
  SnapshotPtr snapshot() const;
  void setPublish(std::function<void(SnapshotPtr)> publish);
  void setProgress(Progress progress);
  void setBetweenTicks(std::function<void()> between);
  /// A second one in the present state, for any thread. Errors: those of Session::fork.
  Result<std::unique_ptr<SessionHolder>> fork();

 private:
  Result<nlohmann::json> open(const nlohmann::json& args);
  Result<nlohmann::json> close(const nlohmann::json& args);
  void connect();
  void announce();

  std::unique_ptr<Session> m_session;  // or
  std::unique_ptr<Lanes> m_lanes;
  std::function<void(SnapshotPtr)> m_publish;
  Progress m_progress;
  std::function<void()> m_betweenTicks;
};

}  // namespace kvlab
