// SPDX-License-Identifier: Apache-2.0
// Computes dense columns of values for views, on request. core/api/tile.h. Engine thread.
#pragma once
#include <memory>

#include "core/api/tile.h"
#include "core/session/session.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// A tile of an earlier tick executes commands again where its state was dropped. If the host does not have the
/// requested attention, a pass that changes no state computes it. Errors: out_of_range, those of that pass, and of
/// sessionAt().
Result<std::unique_ptr<PendingTile>> tile(Session& session, const TileRequest& request);

/// Calls fn(position, index) for the rows of the map in context positions [begin, end).
template <class Fn>
void forResident(const CacheState& state, const ResidencyView& map, std::int32_t begin, std::int32_t end,
                 const Fn& fn) {
  std::size_t index = 0;
  for (std::int32_t p = 0; p < end && index < map.size(); ++p) {
    if (map.ledger[index] != state.context[static_cast<std::size_t>(p)]) continue;
    if (p >= begin && map.has(index)) fn(p, index);
    ++index;
  }
}

}  // namespace kvlab
