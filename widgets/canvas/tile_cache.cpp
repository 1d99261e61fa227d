// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/tile_cache.h"

#include <algorithm>
#include <cmath>

namespace kvlab {

TileRows::TileRows(Quantity quantity, const ShownTile& from, ScaleChoice choice) : m_tile(from.tile) {
  if (choice.range == ScaleChoice::Range::Line) choice.range = ScaleChoice::Range::All;
  const std::span<const float> values = m_tile ? std::span<const float>(m_tile->values) : std::span<const float>();
  m_legend = {scalesFor(quantity, values, m_tile ? m_tile->layers : 0, choice), onlyValue(values)};
  if (!m_tile) return;
  m_none = std::ranges::all_of(values, [](float value) { return std::isnan(value); });
  const auto& context = from.snapshot->context;
  const std::size_t rows = std::min(context.size(), at(m_tile->positions));
  m_positions.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) m_positions.emplace(context[i].value(), static_cast<std::int32_t>(i));
}

float TileRows::value(CacheLayer layer, LedgerId row) const {
  const auto found = m_positions.find(row.value());
  if (found == m_positions.end() || layer.value() >= m_tile->layers) return std::nanf("");
  return m_tile->values[at(layer) * at(m_tile->positions) + at(found->second)];
}

float TileRows::strongest(LedgerId row) const {
  float out = std::nanf("");
  std::uint8_t most = 0;
  for (int layer = 0; m_tile && layer < m_tile->layers; ++layer) {
    const float here = value(CacheLayer(layer), row);
    if (const std::uint8_t index = scale().index(here); index > most) most = index, out = here;
  }
  return out;
}

TileCache::TileCache(InspectorContext& context, std::string tag, InspectorView* view)
    : QObject(view), m_context(context), m_view(view), m_tag(std::move(tag)) {
  view->m_waits.emplace_back([this] { return waiting(); });
  connect(&context, &InspectorContext::sessionChanged, this, &TileCache::forget);
  connect(&context, &InspectorContext::busyChanged, this, [this] {
    if (m_behind && !m_context.busy()) emit arrived(m_shows);
  });
}

void TileCache::forget() {
  m_tiles.clear();
  m_open.clear();
  m_behind.reset();
}

void TileCache::request(Quantity quantity) {
  if (!m_context.snapshot()) return;
  TileRequest request{quantity};
  if (!atNewest()) {
    if (shown(quantity)) return;
    request.tick = m_context.snapshot()->tick;
  }
  const quint64 ours = m_open[quantity] = ++m_asked;
  const std::string tag = m_tag + ":" + std::string(name(quantity));
  const quint64 session = m_context.sessionNumber();
  m_context.fetch(tag, request, this, [this, quantity, ours, session](std::shared_ptr<const Tile> tile) {
    if (session != m_context.sessionNumber()) return;
    if (const auto open = m_open.find(quantity); open != m_open.end() && open->second == ours) m_open.erase(open);
    if (tile) keep(std::move(tile));
    emit arrived(quantity);
    emit m_view->readyChanged();
  });
}

void TileCache::keep(std::shared_ptr<const Tile> tile) {
  std::erase_if(m_tiles, [&](const auto& old) {
    return old->tick == tile->tick && old->request.quantity == tile->request.quantity;
  });
  m_tiles.push_back(std::move(tile));
  std::size_t bytes = 0;
  std::size_t kept = 0;
  for (auto it = m_tiles.rbegin(); it != m_tiles.rend() && bytes <= kBudget; ++it, ++kept)
    bytes += (*it)->values.size() * sizeof(float);
  while (m_tiles.size() > std::max<std::size_t>(1, kept)) m_tiles.pop_front();
}

std::shared_ptr<const Tile> TileCache::shown(Quantity quantity) const {
  const SnapshotPtr snapshot = m_context.snapshot();
  return snapshot ? latest(quantity, snapshot->tick) : nullptr;
}

ShownTile TileCache::best(Quantity quantity) {
  const SnapshotPtr shownNow = m_context.snapshot();
  const bool wasBehind = m_behind.has_value();
  m_shows = quantity;
  m_behind.reset();
  if (!shownNow) return {};
  ShownTile found{shown(quantity), shownNow};
  if (!found.tile && atNewest()) {
    const auto& kept = m_context.history();
    for (auto it = m_tiles.rbegin(); it != m_tiles.rend() && !found.tile; ++it) {
      if ((*it)->request.quantity != quantity) continue;
      const auto at = std::lower_bound(kept.begin(), kept.end(), (*it)->tick,
                                       [](const SnapshotPtr& one, Tick tick) { return one->tick < tick; });
      if (at != kept.end() && (*at)->tick == (*it)->tick) found = {*it, *at};
    }
  }
  // In a run some tiles are in time: the note stays through these, so that it does not flicker.
  const bool late = found.tile && found.snapshot != shownNow;
  if (late || (found.tile && wasBehind && m_context.busy())) m_behind = found.tile->tick;
  return found;
}

QString TileCache::note() const { return m_behind ? tr("values of tick %1").arg(m_behind->value()) : QString(); }

std::shared_ptr<const Tile> TileCache::latest(Quantity quantity, std::optional<Tick> of) const {
  for (auto it = m_tiles.rbegin(); it != m_tiles.rend(); ++it)
    if ((*it)->request.quantity == quantity && (*it)->tick == of.value_or((*it)->tick)) return *it;
  return nullptr;
}

}  // namespace kvlab
