// SPDX-License-Identifier: Apache-2.0
// What a change leads to: the next state and what it does to slots. The history of a session takes commits and
// nothing else. A value; engine thread.
#pragma once
#include "core/api/action.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

struct Commit {
  CacheState state;
  LayerSlots added = {}, freed = {};  // [layers] slots gained and lost against the state before
  std::int64_t bytesMoved = 0;
  std::vector<std::pair<int, LedgerId>> damaged = {};  // rows by layer, by the fault drill
  bool rewritten = false;  // rows that older states name hold other bytes now: these states are forgotten
  bool severed = false;    // slots that older states name belong to nobody any more: likewise, and none is released
  std::vector<Evict> left = {};  // rows that windows have left behind, by layer
};

}  // namespace kvlab
