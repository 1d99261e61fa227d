// SPDX-License-Identifier: Apache-2.0
// Effect that a list of actions would have, as the planner says. Positions before the edit are positions in the state
// that the list was planned for. Values; any thread.
#pragma once
#include <optional>
#include <vector>

#include "core/api/action.h"

namespace kvlab {

/// An edit of the context.
struct PlannedAction {
  int place = 0;                  // index in the action list
  std::vector<Position> removed;  // before the edit, ascending
  Position anchor;                // before the edit: where new rows go; for an add, the length
  Position finalPosition;         // position of the first new row, or of the gap, after the edit
  std::vector<LedgerId> newLedger;
};

struct PlannedEviction {
  CacheLayer layer;
  std::vector<LedgerId> ledger;
};

/// Positions [begin, end).
struct PositionRun {
  std::int32_t begin = 0, end = 0;
};

struct PlanView {
  std::vector<PlannedAction> edits;  // by anchor, ascending; adds come last
  std::vector<PlannedEviction> evictions;
  std::vector<PositionRun> stale;  // rows that stay as they are although their context changes; ascending
  std::int32_t lengthBefore = 0, lengthAfter = 0, newRows = 0;
  std::int32_t staleRows = 0;     // in `stale`
  std::int32_t recomputed = 0;    // rows that the edit computes again
  std::int32_t phaseShifted = 0;  // rows whose phase changes
  std::int64_t bytes = 0;         // bytes of new rows
  std::optional<Error> refused;   // the reason why the list cannot be applied; all else is empty then
};

}  // namespace kvlab
