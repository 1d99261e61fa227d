// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/matrix_colours.h"

namespace kvlab {

std::vector<bool> heldRows(const Snapshot& s, CacheLayer layer) {
  std::vector<bool> byId(s.ledger.size()), out(s.context.size());
  const ResidencyView& map = *s.layers[at(layer)];
  for (const LedgerId id : map.ledger.span().subspan(at(map.first)))
    if (s.ledger.contains(id)) byId[at(id.value())] = true;
  for (std::size_t p = 0; p < out.size(); ++p)
    out[p] = s.ledger.contains(s.context[p]) && byId[at(s.context[p].value())];
  return out;
}

MatrixColours matrixColours(Quantity quantity, std::span<const float> values, const Snapshot& of,
                            const std::vector<CacheLayer>& layers, const ScaleChoice& choice) {
  const int lines = static_cast<int>(layers.size());
  MatrixColours out{scalesFor(quantity, values, lines, choice), {}};
  std::vector<std::uint8_t> indices = out.scales.indices(values);
  const std::size_t items = values.size() / std::max<std::size_t>(1, layers.size());
  std::vector<bool> held;
  const ResidencyView* last = nullptr;
  for (std::size_t line = 0; line < layers.size() && at(layers[line]) < of.layers.size(); ++line) {
    const ResidencyView* map = of.layers[at(layers[line])].get();
    for (std::size_t i = 0; i < items; ++i) {
      std::uint8_t& index = indices[line * items + i];
      if (index != kUnmeasured) continue;
      if (std::exchange(last, map) != map) held = heldRows(of, layers[line]);
      const bool gone = i < held.size() && !held[i];
      index = gone ? kGone : kUnmeasured;
      (gone ? out.gone : out.unmeasured) = true;
    }
  }
  out.cells.assign(lines, static_cast<int>(items), std::move(indices));
  return out;
}

MatrixColours tileColours(const Tile& tile, const Snapshot& of, const ScaleChoice& choice) {
  std::vector<CacheLayer> layers;
  for (int layer = 0; layer < tile.layers; ++layer) layers.emplace_back(layer);
  return matrixColours(tile.request.quantity, tile.values, of, layers, choice);
}

}  // namespace kvlab
