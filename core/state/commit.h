// SPDX-License-Identifier: Apache-2.0
// The result of a change: the next state and the slots that it gained and lost. History::commit() is the only consumer.
// A value; engine thread.
#pragma once
#include "core/api/action.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

struct Commit {
  CacheState state;
  LayerSlots added = {}, freed = {};  // [layers] slots gained and lost against the previous state
  std::int64_t bytesMoved = 0;
  std::vector<std::pair<CacheLayer, LedgerId>> damaged = {};  // rows, by the fault drill
  bool rewritten = false;        // rows of older states were overwritten: history drops these states
  bool severed = false;          // older states cannot be restored: history drops them and frees no slot
  std::vector<Evict> left = {};  // rows that windows have left behind, by layer
};

}  // namespace kvlab
