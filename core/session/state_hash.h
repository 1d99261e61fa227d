// SPDX-License-Identifier: Apache-2.0
// One number for everything a session remembers: XXH3-128 of ledger, context, per layer (ledger id, phase, row bytes in
// logical order), brightness, random state and pending actions. Slots are never hashed. Equal hashes on one numerics id
// mean equal states. Engine thread; reads every resident row.
#pragma once
#include <string>
#include <vector>

#include "core/api/action.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// 32 lower-case hexadecimal digits.
std::string stateHash(const CacheState& state, const CacheStore& store, const std::vector<Action>& pending);

}  // namespace kvlab
