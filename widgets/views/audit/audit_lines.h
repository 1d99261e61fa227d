// SPDX-License-Identifier: GPL-3.0-or-later
// What each layer's policy was asked for and what is there, with a judgement. Pure functions of
// snapshots; any thread.
#pragma once
#include <QString>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

enum class AuditState : std::uint8_t {
  KeepsAll,  // policy full
  Waits,     // asked for, not decided yet: a prompt is coming in, or the next tick is the first
  Room,      // never evicted a row, and never had to
  Holds,     // evicted, and keeps to what was asked for
  Over,      // evicted once, but has more rows than asked for
  NoOp,      // never evicted a row although there were more than asked for
};

struct AuditLine {
  CacheLayer layer;
  QString name;  // of it
  LayerAudit audit;
  AuditState state = AuditState::KeepsAll;
  bool prefilling = false;
  std::int32_t rows = 0;      // resident now
  std::int32_t length = 0;    // of the context
  std::int64_t rowBytes = 0;  // of one row, all KV heads
  std::int32_t most = 0;      // rows, where a no-op had most

  bool bad() const { return state == AuditState::Over || state == AuditState::NoOp; }
  std::int32_t allowed() const { return audit.requested() + audit.protectedRows; }
  std::int32_t over() const { return rows > allowed() ? rows - allowed() : 0; }
  std::int64_t bytes() const { return rowBytes * rows; }
  std::int64_t requestedBytes() const { return rowBytes * audit.requested(); }
  /// "no-op, 46 over", "held", "room for 20".
  QString said() const;
};

/// [layers]; empty where every policy is full. `history` (oldest first) tells whether a policy that never
/// fired should have; only ticks up to the shown one count.
std::vector<AuditLine> auditLines(const Snapshot& shown, const std::vector<SnapshotPtr>& history);

struct AuditTotal {
  std::int64_t rows = 0, fullRows = 0, bytes = 0, fullBytes = 0, requestedRows = 0;
  int bad = 0, fallbacks = 0;
};
AuditTotal totalOf(const std::vector<AuditLine>& lines);

}  // namespace kvlab
