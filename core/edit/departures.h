// SPDX-License-Identifier: Apache-2.0
// Rows that windows leave behind: which rows left which layers, and the states that the ledger gives them. Engine
// thread. semantics.md, sections 1 and 7.
#pragma once
#include <span>
#include <vector>

#include "core/api/action.h"
#include "core/edit/trace.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// Rows of the context among `ids` become live where some layer holds them, left_window where a map still counts them,
/// else evicted.
void markRows(CacheState& state, std::span<const LedgerId> ids, Tick now);

/// Rows that the windows of each cache layer have left behind since `before`, marked in the ledger of `after`; among
/// them are new rows that a window never let in. sameFront: the edit changed nothing before the last row.
std::vector<Evict> leaveWindows(const CacheState& before, CacheState& after, bool sameFront, Tick now);

/// One event for rows that left several layers together.
void tell(std::span<const Evict> left, Trace& trace);

}  // namespace kvlab
