// SPDX-License-Identifier: Apache-2.0
// What a list of actions will do, resolved against the state before the tick: computed by the
// planner (const), carried out by the transaction. A value.
#pragma once
#include <string>
#include <vector>

#include "core/api/action.h"
#include "core/api/cache_layers.h"
#include "core/api/ledger_view.h"

namespace kvlab {

/// A stretch of the context after the edit: either `count` survivors that stood at `begin` before,
/// or `count` new rows from `begin` of EditPlan::rows.
struct Run {
  bool fresh = false;
  std::int32_t begin = 0, count = 0;
};

struct NewRow {
  LedgerId id;
  TokenId token;
  Source source = Source::User;
  Position position;       // after the edit
  std::int32_t phase = 0;  // in modes context and absolute; mode cache counts per layer
  int detail = 0;          // index into EditPlan::details
};

struct PlannedAction {
  int place = 0;                  // in the list
  std::vector<Position> removed;  // before the edit, ascending
  Position anchor;                // before the edit: where the new rows go; length for an add
  Position finalPosition;         // of the first new row, or of the gap
  std::vector<LedgerId> newLedger;
};

struct PlannedEviction {
  CacheLayer layer;
  std::vector<LedgerId> ledger;
};

/// As an action of its own.
inline Evict evictOf(const CacheLayers& layers, const PlannedEviction& eviction) {
  return {layers.layerOf(eviction.layer), layers.headOf(eviction.layer), eviction.ledger};
}

struct EditPlan {
  std::vector<Action> actions;
  std::vector<PlannedAction> details;  // edits of the context, ascending; adds last
  std::vector<PlannedEviction> evictions;
  std::vector<Position> removed;       // ascending
  std::vector<RowState> removedState;  // [removed] Replaced or Deleted
  std::vector<NewRow> rows;            // ascending final position; ids ascend likewise
  std::vector<Run> runs;               // the context after, in order
  std::vector<std::int32_t> phases;    // [length after]; empty in modes context and cache
  std::int32_t lengthBefore = 0, lengthAfter = 0;
  std::int32_t firstChange = 0;   // final position from which on survivors are stale
  std::int32_t stale = 0;         // survivors computed from a context that no longer exists
  std::int32_t phaseShifted = 0;  // survivors that will be read at another phase
  std::int32_t adds = 0;          // the last `adds` of rows are appended

  bool empty() const { return details.empty() && evictions.empty(); }
  /// True if it does nothing but add rows behind the last one.
  bool appendsOnly() const {
    return removed.empty() && evictions.empty() && rows.size() == static_cast<std::size_t>(adds);
  }
};

}  // namespace kvlab
