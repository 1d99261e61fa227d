// SPDX-License-Identifier: GPL-3.0-or-later
// The data that the map paints: colour indices of one tile, and marks of edited positions. Made on any thread from
// immutable values, read on the GUI thread. Shapes: [layers][positions].
#pragma once
#include <memory>
#include <vector>

#include "core/api/snapshot.h"
#include "core/api/tile.h"
#include "widgets/base/finding_marks.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/canvas/matrix_colours.h"
#include "widgets/canvas/plan_ghosts.h"

namespace kvlab {

/// Positions [begin, end) whose rows differ from a rebuild for the same reason.
struct StaleRun {
  std::int32_t begin = 0, end = 0;
  Exactness why = Exactness::Exact;
};

struct MapPicture {
  std::shared_ptr<const Tile> tile;
  MatrixColours colours;
  std::vector<std::int32_t> edited;   // positions of replaced or inserted tokens, ascending
  std::vector<std::int32_t> pending;  // positions that the queue changes, ascending
  PlanGhosts ghosts;                  // planned effects of the queue
  std::vector<StaleRun> stale;        // ascending, without exact rows
  FindingMarks findings;
  SnapshotPtr snapshot;

  Quantity quantity() const { return tile->request.quantity; }
  float value(int layer, int position) const { return tile->values[at(layer) * at(tile->positions) + at(position)]; }
};

/// Makes the picture with one pass over the tile and one over the context.
std::shared_ptr<const MapPicture> makeMapPicture(SnapshotPtr snapshot, std::shared_ptr<const Tile> tile,
                                                 const ScaleChoice& choice = {});
/// A tile computed from the snapshot alone, for ticks whose tiles were dropped: residency, age and staleness; null for
/// other quantities.
std::shared_ptr<const Tile> tileFromSnapshot(const Snapshot& snapshot, Quantity quantity);
/// Runs of rows that differ from a rebuild.
std::vector<StaleRun> staleRuns(const Snapshot& snapshot);

}  // namespace kvlab
