// SPDX-License-Identifier: Apache-2.0
// Builds snapshots of a session and sends them to its receiver. Owned by the session; engine thread.
#pragma once
#include <algorithm>
#include <functional>

#include "core/api/snapshot.h"
#include "core/parts/session_parts.h"

namespace kvlab {

struct EditPlan;
class Session;

/// Says of each token whether its rows in the last layer equal those of a rebuild; null if nobody edited the session.
/// Visits every row of every map, so only for snapshots that somebody receives.
std::shared_ptr<const std::vector<Exactness>> shownExactness(const Session& session);

class Publisher {
 public:
  SnapshotPtr snapshot() const { return m_snapshot; }
  void setReceiver(std::function<void(SnapshotPtr)> receive) { m_receive = std::move(receive); }
  /// Stores the description of the session's model for all snapshots.
  void describe(const SessionParts& parts);
  /// Takes over the description by another publisher, and its list of likely tokens.
  void describeAs(const Publisher& other) {
    m_info = other.m_info;
    m_likeliestOf = other.m_likeliestOf;
    m_likeliest = other.m_likeliest;
  }
  /// Sends a snapshot of the present state. Sends nothing while history executes commands again.
  void publish(Session& session);
  /// Later serials are greater than `serial`, for readers that have seen snapshots of another session.
  void startAfter(std::uint64_t serial) { m_serial = std::max(m_serial, serial); }
  /// The session has gone to another branch.
  void leap() { ++m_leaps; }
  /// The session begins a new history, whose ticks and entries have the numbers of older ones.
  void startOver() {
    leap();
    m_start = m_serial;
  }
  /// The number of the last snapshot before the history began.
  std::uint64_t start() const { return m_start; }

 private:
  std::shared_ptr<const SettingsInfo> settings(const Session& session);
  const std::vector<TokenChance>& likeliest(const CacheState& state);

  std::shared_ptr<const SessionInfo> m_info;
  std::shared_ptr<const SettingsInfo> m_settings;
  Manifest m_manifest;  // m_settings describes it with the policies
  std::vector<PolicySpec> m_policies;
  SnapshotPtr m_snapshot;
  std::shared_ptr<const std::vector<float>> m_likeliestOf;  // the logits that the cached list belongs to
  std::vector<TokenChance> m_likeliest;
  std::uint64_t m_serial = 0;
  std::uint32_t m_leaps = 0;
  std::uint64_t m_start = 0;
  std::function<void(SnapshotPtr)> m_receive;
};

/// A plan as readers see it.
PlanView planView(const Session& session, const EditPlan& plan);

}  // namespace kvlab
