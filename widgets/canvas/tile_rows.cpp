// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/tile_rows.h"

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

}  // namespace kvlab
