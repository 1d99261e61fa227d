// SPDX-License-Identifier: GPL-3.0-or-later
// The tiles a view has asked for: one per quantity for the newest tick, and those of earlier ticks
// as long as they fit. Owned by a view, which calls request() whenever a snapshot comes. GUI thread.
#pragma once
#include <QObject>
#include <deque>
#include <memory>

#include "widgets/base/inspector_context.h"

namespace kvlab {

class TileCache : public QObject {
  Q_OBJECT
 public:
  /// `tag` tells this cache's requests from those of other views. Another session's tiles are forgotten.
  TileCache(InspectorContext& context, std::string tag, QObject* parent);

  /// Asks for the whole of a quantity at the newest tick, unless an older tick is shown.
  void request(Quantity quantity);
  /// The tile that belongs to the shown tick; null if it has not arrived or is no longer kept.
  std::shared_ptr<const Tile> shown(Quantity quantity) const;
  /// The newest tile of that quantity, whatever its tick; null before the first.
  std::shared_ptr<const Tile> latest(Quantity quantity) const;
  /// Requests whose reply is still to come.
  bool waiting() const { return m_waiting > 0; }
  /// True if the newest tick is the one shown.
  bool atNewest() const;

 signals:
  void arrived(kvlab::Quantity quantity);

 private:
  void keep(std::shared_ptr<const Tile> tile);
  void forget();

  static constexpr std::size_t kBudget = 48u << 20;  // bytes of tiles kept for scrubbing
  InspectorContext& m_context;
  const std::string m_tag;
  std::deque<std::shared_ptr<const Tile>> m_tiles;  // oldest first
  int m_waiting = 0;
  quint64 m_asked[kQuantities] = {};
};

}  // namespace kvlab
