// SPDX-License-Identifier: Apache-2.0
// Brings the rows of a neighbouring state back into the pools, and keeps those that give way for the way back. Rows
// that both states have move to their other slots, so a step costs what the commit between the states cost. Engine
// thread.
#pragma once
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// A state and the pools that its maps name slots of.
struct Placed {
  const CacheState& state;
  CacheStore& store;
};

/// `kept` has the rows of `to` that `from` lacks or has with another content, and gets those of `from` in exchange.
/// Both may have the same store. apart: the rows of only one of the states lie in the pools; otherwise all but `kept`
/// lie there for both. Returns bytes read and written. Errors: not_kept, and nothing has changed; out_of_memory or
/// device, and rows are lost.
Result<std::int64_t> swapRows(const Placed& from, const Placed& to, KeptRows& kept, bool apart);

}  // namespace kvlab
