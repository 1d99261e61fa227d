// SPDX-License-Identifier: Apache-2.0
// The effect of a list of actions, resolved against the state before the tick. Computed by the planner without changing
// the state; applied by the transaction. A value.
#pragma once
#include <string>
#include <vector>

#include "core/api/action.h"
#include "core/api/cache_layers.h"
#include "core/api/ledger_view.h"
#include "core/api/plan_view.h"

namespace kvlab {

/// A stretch of the context after the edit: `count` survivors that were at `begin` before the edit, or `count` new rows
/// from `begin` of EditPlan::rows.
struct Run {
  bool fresh = false;
  std::int32_t begin = 0, count = 0;
};

struct NewRow {
  LedgerId id;
  TokenId token;
  Source source = Source::User;
  Position position;       // after the edit
  std::int32_t phase = 0;  // modes context and absolute; in mode cache the phase depends on the layer
  int detail = 0;          // index into EditPlan::details
};

/// The eviction as an action.
inline Evict evictOf(const CacheLayers& layers, const PlannedEviction& eviction) {
  return {layers.layerOf(eviction.layer), layers.headOf(eviction.layer), eviction.ledger};
}

struct EditPlan {
  std::vector<Action> actions;
  std::vector<PlannedAction> details;  // edits of the context, ascending; adds come last
  std::vector<PlannedEviction> evictions;
  std::vector<Position> removed;       // ascending
  std::vector<RowState> removedState;  // [removed] Replaced or Deleted
  std::vector<NewRow> rows;            // ascending final position; ids ascend likewise
  std::vector<Run> runs;               // the context after the edit, in order
  std::vector<std::int32_t> phases;    // [length after]; empty in modes context and cache
  std::int32_t lengthBefore = 0, lengthAfter = 0;
  std::int32_t firstChange = 0;   // first position after the edit whose survivors are stale
  std::int32_t stale = 0;         // survivors computed from a context that has changed
  std::int32_t phaseShifted = 0;  // survivors whose phase changes
  std::int32_t adds = 0;          // number of rows at the end of `rows` that are appended

  bool empty() const { return details.empty() && evictions.empty(); }
  /// True if the plan only appends rows.
  bool appendsOnly() const {
    return removed.empty() && evictions.empty() && rows.size() == static_cast<std::size_t>(adds);
  }
};

}  // namespace kvlab
