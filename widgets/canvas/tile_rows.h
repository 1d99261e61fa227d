// SPDX-License-Identifier: GPL-3.0-or-later
// The values of a tile by row. A tile may be older than the shown tick; rows that it has are found in it whatever an
// edit did to their positions. A value; GUI thread.
#pragma once
#include <optional>
#include <unordered_map>

#include "widgets/canvas/colour_map.h"
#include "widgets/canvas/tile_cache.h"

namespace kvlab {

class TileRows {
 public:
  /// No values.
  TileRows() = default;
  /// The tile has the values of all cache layers; null = none yet. They share one scale.
  TileRows(Quantity quantity, const ShownTile& from, ScaleChoice choice);

  /// True if no row has a value.
  bool none() const { return m_none; }
  const ColourScale& scale() const { return m_legend.scales.first(); }
  const ColourLegend& legend() const { return m_legend; }
  /// NaN = the row has no value there.
  float value(CacheLayer layer, LedgerId row) const;
  /// The value with the strongest colour in any layer; NaN = no layer has one.
  float strongest(LedgerId row) const;

 private:
  std::shared_ptr<const Tile> m_tile;
  std::unordered_map<std::int32_t, std::int32_t> m_positions;  // by ledger id
  ColourLegend m_legend;
  bool m_none = true;
};

}  // namespace kvlab
