// SPDX-License-Identifier: GPL-3.0-or-later
// Matches the cache with its mirror: for one layer, the index of every context position's row, and errors in rows. A
// pure function of a snapshot; any thread.
#pragma once
#include <QString>
#include <map>
#include <memory>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

/// An error in a row of a layer's map.
struct MirrorFinding {
  std::int32_t index = -1;     // index in the layer's map
  std::int32_t position = -1;  // context position of its ledger row; -1 = not in the context
  QString what;                // "out of order: the row before it stands at position 53"
};

struct MirrorLayer {
  std::vector<std::int32_t> indexOf;    // [positions], index in the map; -1 = not resident
  std::vector<MirrorFinding> findings;  // ascending by index
  const ResidencyView* map = nullptr;   // owned by the snapshot
};

/// Checks the map's order, its phases and its slots against the context, and adds the findings of the engine's checks
/// in this layer. Cost: a few passes over context and map.
MirrorLayer mirrorOf(const Snapshot& snapshot, CacheLayer layer);

}  // namespace kvlab
