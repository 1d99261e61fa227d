// SPDX-License-Identifier: GPL-3.0-or-later
// The effects that the queued actions would have on the rows of a snapshot, for views that draw rows: taken from the
// planner's result in the snapshot, never computed here. Also the marks of these ghosts, one shape for each kind, and
// their legend. GUI thread, except planGhosts().
#pragma once
#include <QLabel>
#include <QWidget>
#include <optional>
#include <vector>

#include "core/api/snapshot.h"
#include "widgets/base/strip_layout.h"
#include "widgets/base/theme.h"

class QPainter;

namespace kvlab {

enum class GhostKind { New, Leaving, LeavingLayer, Stale };
inline constexpr int kGhostKinds = 4;

struct PlanGhosts {
  /// Rows that come before a position; the length = at the end. `tokens` is empty where only the commit knows them.
  struct Added {
    std::int32_t before = 0;
    std::vector<TokenId> tokens;
  };
  struct Evicted {
    CacheLayer layer;
    std::int32_t position = 0;
  };
  std::vector<Added> added;           // ascending
  std::vector<std::int32_t> leaving;  // positions that leave the context, ascending
  std::vector<Evicted> evicted;       // rows that leave one layer
  std::vector<PositionRun> stale;     // rows that are exact now; ascending

  bool has(GhostKind kind) const;
  bool leaves(std::int32_t position) const;
  bool leavesLayer(CacheLayer layer, std::int32_t position) const;
  bool goesStale(std::int32_t position) const;
  /// The planned fate of a row, in words; empty = nothing.
  QString text(const Snapshot& snapshot, CacheLayer layer, std::int32_t position) const;
};

/// The planned effect of the queue, and what policies have decided in a tick that is open before it happens.
PlanGhosts planGhosts(const Snapshot& snapshot);

/// A line through rows that go.
void paintStrike(QPainter& painter, const QLineF& line, const Theme& theme);
/// The outline of rows that come.
void paintNew(QPainter& painter, const QRectF& box, const Theme& theme);
/// Slanted lines over rows that become stale.
void paintHatch(QPainter& painter, const QRectF& box, const Theme& theme);

/// A legend in a view's strip of controls: one entry for each kind of ghost that appears. Without ghosts it takes no
/// room. Owned by its view.
class GhostLegend : public QObject {
  Q_OBJECT
 public:
  GhostLegend(StripLayout& strip, QWidget* view);
  void setGhosts(const PlanGhosts& ghosts);

 private:
  QLabel* m_head;
  std::vector<QWidget*> m_entries;  // by kind
};

}  // namespace kvlab
