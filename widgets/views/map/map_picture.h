// SPDX-License-Identifier: GPL-3.0-or-later
// What the map paints from: the colour indices of one tile, and the marks of edited positions. Made
// on any thread from immutable values, read on the GUI thread. Shapes: [layers][positions].
#pragma once
#include <memory>
#include <vector>

#include "core/api/snapshot.h"
#include "core/api/tile.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/canvas/max_pyramid.h"

namespace kvlab {

/// Positions [begin, end) whose rows differ from a rebuild for one reason.
struct StaleRun {
  std::int32_t begin = 0, end = 0;
  Exactness why = Exactness::Exact;
};

/// A cell that a check has found wrong; position -1 = the layer as a whole.
struct WrongCell {
  int layer = 0;
  std::int32_t position = -1;
};

struct MapPicture {
  std::shared_ptr<const Tile> tile;
  ColourScale scale;
  MaxPyramid cells;
  std::vector<std::int32_t> edited;   // positions born by a replacement or an insertion, ascending
  std::vector<std::int32_t> pending;  // positions that pending actions will change, ascending
  std::vector<StaleRun> stale;        // ascending, exact rows left out
  std::vector<WrongCell> wrong;       // known findings that name a layer
  SnapshotPtr snapshot;
};

/// Cost: one pass over the tile and one over the context.
std::shared_ptr<const MapPicture> makeMapPicture(SnapshotPtr snapshot, std::shared_ptr<const Tile> tile);
/// A tile computed from the snapshot alone, for ticks whose tiles are gone: residency, age and
/// staleness; null for other quantities.
std::shared_ptr<const Tile> tileFromSnapshot(const Snapshot& snapshot, Quantity quantity);
/// Runs of rows that are not exact.
std::vector<StaleRun> staleRuns(const Snapshot& snapshot);
/// Positions a list of actions removes or replaces, ascending.
std::vector<std::int32_t> touchedPositions(const std::vector<Action>& actions);

}  // namespace kvlab
