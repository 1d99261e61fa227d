// SPDX-License-Identifier: Apache-2.0
// Holds a session, or lanes in its place. Runs every verb of the table, including those that open and close lanes.
// Owned by the window's engine or by a program without a window, on one thread, which alone calls it.
#pragma once
#include "core/lanes/lanes.h"

namespace kvlab {

class SessionHolder {
 public:
  explicit SessionHolder(std::unique_ptr<Session> session) : m_session(std::move(session)) {}
  explicit SessionHolder(std::unique_ptr<Lanes> lanes) : m_lanes(std::move(lanes)) {}

  /// Errors: those of core/verbs/verbs.h and core/lanes/lane_verbs.h; in_lockstep if lanes are already open.
  Result<nlohmann::json> execute(const std::string& verb, const nlohmann::json& args);
  /// A tile of the session, or of lane 0.
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request);
  SnapshotPtr snapshot() const;
  void setPublish(std::function<void(SnapshotPtr)> publish);
  void setProgress(Progress progress);
  void setBetweenTicks(std::function<void()> between);
  /// A copy in the present state, to be used by any one thread. Errors: those of Session::fork.
  Result<std::unique_ptr<SessionHolder>> fork();

 private:
  Result<nlohmann::json> open(const nlohmann::json& args);
  Result<nlohmann::json> close(const nlohmann::json& args);
  void connect();
  void announce();

  std::unique_ptr<Session> m_session;  // null while lanes are open
  std::unique_ptr<Lanes> m_lanes;
  std::function<void(SnapshotPtr)> m_publish;
  Progress m_progress;
  std::function<void()> m_betweenTicks;
};

}  // namespace kvlab
