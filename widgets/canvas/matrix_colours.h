// SPDX-License-Identifier: GPL-3.0-or-later
// The colours of a matrix over the rows of a context: its scales, and an index for each cell. A value, made on any
// thread from immutable values.
#pragma once
#include "core/api/snapshot.h"
#include "widgets/canvas/max_pyramid.h"

namespace kvlab {

struct MatrixColours {
  ColourScales scales;
  MaxPyramid cells;
  bool gone = false, unmeasured = false;  // there are such cells
};

/// values: [lines][rows of the context]; layers: [lines]. A cell without a value is gone if its layer lacks the row.
MatrixColours matrixColours(Quantity quantity, std::span<const float> values, const Snapshot& of,
                            const std::vector<CacheLayer>& layers, const ScaleChoice& choice);
/// The colours of a tile: a line per cache layer.
MatrixColours tileColours(const Tile& tile, const Snapshot& of, const ScaleChoice& choice);
/// [rows of the context] whether a layer holds them.
std::vector<bool> heldRows(const Snapshot& s, CacheLayer layer);

}  // namespace kvlab
