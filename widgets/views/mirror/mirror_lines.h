// SPDX-License-Identifier: GPL-3.0-or-later
// Lines the cache up with its mirror: for one layer, where the row of every context position is and
// what is wrong with it. A pure function of a snapshot; any thread.
#pragma once
#include <QString>
#include <map>
#include <memory>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

/// Something wrong with a row of a layer's map.
struct MirrorFinding {
  std::int32_t index = -1;     // place in the layer's map
  std::int32_t position = -1;  // context position of its ledger row; -1: in no context position
  QString what;                // "out of order: the row before it stands at position 53"
};

struct MirrorLayer {
  std::vector<std::int32_t> indexOf;    // [positions], index in the map; -1 = not resident
  std::vector<MirrorFinding> findings;  // ascending by index
  const ResidencyView* map = nullptr;   // of the snapshot
};

/// Checks the map's order, its phases and its slots against the context, and adds what checks of the engine have found
/// in this layer. Cost: a few passes over context and map.
MirrorLayer mirrorOf(const Snapshot& snapshot, CacheLayer layer);

}  // namespace kvlab
