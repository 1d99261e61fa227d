// SPDX-License-Identifier: Apache-2.0
// Builds the snapshots of a session and hands them out. Owned by the session; engine thread.
#pragma once
#include <functional>

#include "core/api/snapshot.h"
#include "core/kinds/base/session_parts.h"

namespace kvlab {

class Session;

class Publisher {
 public:
  SnapshotPtr snapshot() const { return m_snapshot; }
  void setReceiver(std::function<void(SnapshotPtr)> receive) { m_receive = std::move(receive); }
  /// Takes over what snapshots tell of the session as a whole: after it was opened and whenever its manifest changes.
  void describe(const SessionParts& parts);
  /// A snapshot of the present state; none while history is being executed again.
  void publish(Session& session);
  /// Later serials are beyond this one, for readers who come from a session that went further.
  void startAfter(std::uint64_t serial);

 private:
  const std::vector<TokenChance>& likeliest(const CacheState& state);

  std::shared_ptr<const SessionInfo> m_info;
  SnapshotPtr m_snapshot;
  std::shared_ptr<const std::vector<float>> m_likeliestOf;  // logits
  std::vector<TokenChance> m_likeliest;
  std::uint64_t m_serial = 0;
  std::function<void(SnapshotPtr)> m_receive;
};

}  // namespace kvlab
