// SPDX-License-Identifier: GPL-3.0-or-later
// Compares, for each layer, the rows that its policy was asked to keep with the resident rows. Lines: pure functions of
// snapshots; any thread. The model of the lines: owned by its view, GUI thread.
#pragma once
#include "core/api/snapshot.h"
#include "widgets/table/column_model.h"

namespace kvlab {

enum class AuditState : std::uint8_t {
  KeepsAll,  // policy full
  Waits,     // requested, but not decided yet: during a prompt, or before the first tick
  Room,      // has never evicted a row, and never had to
  Holds,     // has evicted rows and keeps its budget
  Over,      // has evicted rows, but has more rows than requested
  NoOp,      // has never evicted a row, although the layer had more rows than requested
};

struct AuditLine {
  CacheLayer layer;
  QString name;  // layer name
  LayerAudit audit;
  AuditState state = AuditState::KeepsAll;
  bool prefilling = false;
  std::int32_t rows = 0;      // resident rows
  std::int32_t length = 0;    // length of the context
  std::int64_t rowBytes = 0;  // bytes of one row, all KV heads
  std::int32_t most = 0;      // no-op: the largest number of rows

  bool bad() const { return state == AuditState::Over || state == AuditState::NoOp; }
  std::int32_t allowed() const { return audit.allowed(); }
  std::int32_t over() const { return rows > allowed() ? rows - allowed() : 0; }
  std::int64_t bytes() const { return rowBytes * rows; }
  std::int64_t requestedBytes() const { return rowBytes * audit.requested(); }
  /// "no-op, 46 over", "held", "room for 20".
  QString said() const;
};

/// [layers]; empty if every policy is full. `history` (oldest first) shows whether a policy that never evicted should
/// have; only ticks up to the shown one count.
std::vector<AuditLine> auditLines(const Snapshot& shown, const std::vector<SnapshotPtr>& history);

struct AuditTotal {
  std::int64_t rows = 0, fullRows = 0, bytes = 0, fullBytes = 0, requestedRows = 0;
  int bad = 0, fallbacks = 0;
};
AuditTotal totalOf(const std::vector<AuditLine>& lines);

class AuditModel : public LineModel<AuditLine> {
  Q_OBJECT
 public:
  enum Role { LineRole = Qt::UserRole + 70 };  // const AuditLine*

  explicit AuditModel(QObject* parent);
  void show(std::vector<AuditLine> lines);
  int rowOf(CacheLayer layer) const;  // -1 = none
};

}  // namespace kvlab
