// SPDX-License-Identifier: GPL-3.0-or-later
// The tiles that a view has requested: one per quantity for the newest tick, and tiles of earlier ticks within a byte
// budget. A run is ahead of its tiles; views then show the newest one there is, and say of which tick. Owned by a view,
// which calls request() for every snapshot. GUI thread.
#pragma once
#include <QObject>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>

#include "widgets/base/inspector_view.h"
#include "widgets/canvas/colour_map.h"

namespace kvlab {

/// A tile and the snapshot of its tick: rows and values of one state.
struct ShownTile {
  std::shared_ptr<const Tile> tile;
  SnapshotPtr snapshot;
};

class TileCache : public QObject {
  Q_OBJECT
 public:
  /// `tag` separates this cache's requests from those of other views. Tiles of an old session are dropped. The view is
  /// not ready while a tile is outstanding.
  TileCache(InspectorContext& context, std::string tag, InspectorView* view);

  /// Requests all values of a quantity: at the newest tick, or while an older tick is shown at that one, unless they
  /// are there.
  void request(Quantity quantity);
  /// The tile of the shown tick; null if it has not arrived or was dropped.
  std::shared_ptr<const Tile> shown(Quantity quantity) const;
  /// The newest tile of that quantity, of one tick or of any; null before the first.
  std::shared_ptr<const Tile> latest(Quantity quantity, std::optional<Tick> of = {}) const;
  /// The values to show of a quantity: the tile of the shown tick, else in a run the newest tile whose snapshot is
  /// kept, else no tile and the shown snapshot.
  ShownTile best(Quantity quantity);
  /// Says of which tick the values are that best() gave; empty if they are of the shown one.
  QString note() const;
  /// True while replies are outstanding.
  bool waiting() const { return !m_open.empty(); }
  /// True if the shown tick is the newest, or follows a run.
  bool atNewest() const { return m_context.following(); }

 signals:
  void arrived(kvlab::Quantity quantity);

 private:
  void keep(std::shared_ptr<const Tile> tile);
  void forget();

  static constexpr std::size_t kBudget = 48u << 20;  // bytes of tiles kept for scrubbing
  InspectorContext& m_context;
  InspectorView* m_view;
  const std::string m_tag;
  std::deque<std::shared_ptr<const Tile>> m_tiles;  // oldest first
  std::optional<Tick> m_behind;             // tick of the values that the view shows; none if the view shows that tick
  Quantity m_shows = Quantity::Brightness;  // last quantity that best() was asked for
  std::map<Quantity, quint64> m_open;       // outstanding requests; a newer one replaces an older one of its quantity
  quint64 m_asked = 0;                      // number of the last request
};

/// The values of a tile by row. A tile may be older than the shown tick; rows that it has are found in it whatever an
/// edit did to their positions. A value.
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
