// SPDX-License-Identifier: Apache-2.0
// The result of a change: the next state and the slots that it gained and lost. History::commit() is the only consumer,
// and notes which commit wrote each row. A value; engine thread.
#pragma once
#include "core/api/action.h"
#include "core/api/manifest.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// Manifest and rows that pools are made from.
struct StoredAs {
  Manifest manifest;
  std::vector<std::int32_t> rows;  // [layers] as LayerDemand::rows
};

struct Commit {
  CacheState state;
  LayerSlots added = {}, freed = {};  // [layers] slots gained and lost against the previous state
  std::int64_t bytesMoved = 0;
  std::vector<std::pair<CacheLayer, LedgerId>> damaged = {};  // rows, by the fault drill
  bool rewritten = false;                       // rows of the previous state were overwritten; the store's log has them
  bool severed = false;                         // older states cannot be restored: history drops them and frees no slot
  std::shared_ptr<const StoredAs> stored = {};  // the previous state, where the next one has other pools
  std::vector<Evict> left = {};                 // rows that windows have left behind, by layer
};

// The last commit that wrote each row, so that damage can be told from the effect of an event: a column beside the
// residency map of a group.

/// Notes in the commit's state that the commit of this number wrote the rows that `before` lacks, has in other slots or
/// computed from something else, and those that the fault drill damaged; all rows, where pools were written anew.
void noteWriters(const CacheState& before, Commit& commit, std::int32_t number);

}  // namespace kvlab
